"""Build the documentation as a web site: ``python -m tools.docs_site``, which is ``make docs``.

Sphinx reads ``build/site-source``, which is made anew from three sources: the Markdown pages of ``docs`` and of the
repository (:mod:`~tools.docs_site.pages`), the public names (:mod:`~tools.docs_site.api`), and the registry of kernels
(:mod:`~tools.docs_site.contracts`). So the pages in ``docs`` stay plain Markdown, whose links work where they lie, and
nothing that is generated lies among them. The configuration is ``docs/conf.py``.
"""
