"""Ways to show a plan, one file each; all of them read a `motiflux.plan.report.PlanReport`."""

from motiflux.plan.explain.document import to_dict
from motiflux.plan.explain.html import to_document, to_html
from motiflux.plan.explain.mermaid import to_mermaid
from motiflux.plan.explain.svg import to_picture
from motiflux.plan.explain.text import to_text

__all__ = ["to_dict", "to_document", "to_html", "to_mermaid", "to_picture", "to_text"]
