/** OAuth 2.0 Protected Resource Metadata (RFC 9728): how a client that knows only an API finds its provider. */
import Router from '@koa/router'
import type { Middleware } from 'koa'

interface ProtectedResource {
  /** Its resource indicator. */
  readonly audience: string
  readonly issuer: string
  readonly scopes: readonly string[]
}

/** RFC 9728 §3.1: the path of the resource comes last. */
function metadataUrl(audience: string): URL {
  const { origin, pathname } = new URL(audience)
  return new URL(`${origin}/.well-known/oauth-protected-resource${pathname}`)
}

export function resourceMetadataRouter({ audience, issuer, scopes }: ProtectedResource): Router {
  const router = new Router()
  router.get(metadataUrl(audience).pathname, (ctx) => {
    ctx.set('Access-Control-Allow-Origin', '*')
    ctx.body = {
      resource: audience,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
    }
  })
  return router
}

/** Adds to each challenge where the metadata is (RFC 9728 §5.1). Goes before what sends the refusals. */
export function challengeWithMetadata(audience: string): Middleware {
  const parameter = `resource_metadata="${metadataUrl(audience)}"`
  return async (ctx, next) => {
    await next()
    const challenge = ctx.response.get('WWW-Authenticate')
    if (ctx.status === 401 && challenge)
      ctx.set('WWW-Authenticate', challenge.replace(' ', ` ${parameter}, `))
  }
}
