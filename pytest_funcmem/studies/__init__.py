"""What finished audits teach: which scores stand in for execution, what thresholds decide, who rates alike.

The room reads reports, and sources for ratings. It executes nothing that is audited.
"""
