"""Options, deadlines, costs and progress of calls; the interfaces of engines and samplers."""
