"""Output formats of reports on plans, one file each."""

from motiflux.plan.report.explain.document import to_dict
from motiflux.plan.report.explain.html import to_document, to_html
from motiflux.plan.report.explain.mermaid import to_mermaid
from motiflux.plan.report.explain.svg import to_picture
from motiflux.plan.report.explain.text import to_text

__all__ = ["to_dict", "to_document", "to_html", "to_mermaid", "to_picture", "to_text"]
