/** The login page. It asks for a name and believes it: put your own authentication here. */
import Router from '@koa/router'
import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import getRawBody from 'raw-body'
import { findPerson } from './accounts.ts'

export const loginUrl = (uid: string): string => `/login/${uid}`

export function loginRouter(provider: Provider): Router {
  const router = new Router()

  router.get(loginUrl(':uid'), async (ctx) => {
    const { prompt } = await provider.interactionDetails(ctx.req, ctx.res)
    if (prompt.name === 'login') return page(ctx)
    // A client that insists on consent: `loadExistingGrant` has given it already.
    await finish(ctx, { consent: {} })
  })

  router.post(loginUrl(':uid'), async (ctx) => {
    const form = new URLSearchParams(await getRawBody(ctx.req, { limit: '4kb', encoding: 'utf-8' }))
    const accountId = form.get('account') ?? ''
    if (!findPerson(accountId)) return page(ctx, 'There is no such account.')
    await finish(ctx, { login: { accountId } })
  })

  /** Checks the interaction's signed cookie, and sends the browser back to the provider. */
  async function finish(ctx: Context, result: Parameters<Provider['interactionFinished']>[2]): Promise<void> {
    // The provider writes the answer itself.
    ctx.respond = false
    await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: true })
  }
  return router
}

function page(ctx: Context, message = 'Try sam (support), or alice or bob (customers).'): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  ctx.type = 'html'
  ctx.body = `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
<h1>Sign in</h1>
<p>${message}</p>
<form method="post">
  <label>Account <input name="account" autocomplete="username" required autofocus></label>
  <button>Sign in</button>
</form>
`
}
