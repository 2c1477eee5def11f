"""What runs where, and beside what: the plan, the pipeline, and the events that it tells of.

Nothing here knows pytest, terminals or report formats.
"""
