/**
 * Mocha 12 renamed three files to `.cjs`, and the runner of Stryker 10.0.0 (`dist/src/lib-wrapper.js`) still loads them
 * by their old names. These hooks answer the old names, so that no package is patched on disk. Remove this file when the
 * runner finds Mocha without it.
 */
import { registerHooks } from 'node:module'

const OLD_NAME = /\/mocha\/lib\/cli\/(?:run-helpers|collect-files|options)$/

registerHooks({
  resolve: (specifier, context, next) =>
    next(OLD_NAME.test(specifier) ? `${specifier}.cjs` : specifier, context),
})
