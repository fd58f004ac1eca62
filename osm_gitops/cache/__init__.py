"""What earlier runs found, in the user's cache folder, by the digest of all that it depends on.

Belongs here: the folder and who may write it, that an entry is as it was written, digests of values and of this
program. May not come in: what an entry means, and whether to use one, which is the caller's.
"""
