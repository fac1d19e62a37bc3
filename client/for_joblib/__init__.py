"""A backend of joblib: what scikit-learn and others run in parallel runs on a cluster.

Only `backend` and `bundle` need joblib or numpy, and `registering` imports them when it is called.
"""
