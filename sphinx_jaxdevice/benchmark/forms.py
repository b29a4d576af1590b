"""TEMPORARY shim."""
from . import model
from .remedies import REMEDIES
class F:
    log_likelihood = staticmethod(model.log_likelihood)
FORMS = {r.form: F for r in REMEDIES}
