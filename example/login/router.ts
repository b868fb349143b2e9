/** Where the provider sends people to sign in and to consent, and what follows from their decisions. */
import Router from '@koa/router'
import type { Context } from 'koa'
import { errors, type InteractionResults, type Provider } from 'oidc-provider'
import getRawBody from 'raw-body'
import { findPerson } from '../accounts.ts'
import { baseStyle, readServedFiles, serve } from '../files.ts'
import { allowWhatIsMissing, type Interaction } from './grant.ts'
import { consentPage, expiredPage, signInPage } from './pages.ts'

export const loginUrl = (uid: string): string => `/login/${uid}`

const FILES = readServedFiles(`${import.meta.dirname}/public`, '/login/public')
FILES.set('/login/public/base.css', baseStyle)

export function loginRouter(provider: Provider): Router {
  const router = new Router()
  router.get('/login/public/*file', serve(FILES))

  router.get(loginUrl(':uid'), async (ctx) => {
    const interaction = await find(ctx)
    if (!interaction) return expiredPage(ctx)
    return ask(ctx, interaction)
  })

  router.post(loginUrl(':uid'), async (ctx) => {
    const interaction = await find(ctx)
    if (!interaction) return expiredPage(ctx)
    const form = new URLSearchParams(await getRawBody(ctx.req, { limit: '4kb', encoding: 'utf-8' }))
    const decision = form.get('decision')
    if (decision === 'cancel') return finish(ctx, { error: 'access_denied' })
    if (interaction.prompt.name === 'login') {
      const accountId = form.get('account') ?? ''
      if (!findPerson(accountId)) return signInPage(ctx, interaction, 'There is no such account.')
      return finish(ctx, { login: { accountId } })
    }
    // Only the button is consent.
    if (decision !== 'allow') return ask(ctx, interaction)
    return finish(ctx, { consent: { grantId: await allowWhatIsMissing(provider, interaction) } })
  })

  /** Checks the signed cookie of the browser that started, so no one can finish a sign-in for someone else. */
  async function find(ctx: Context): Promise<Interaction | undefined> {
    try {
      return await provider.interactionDetails(ctx.req, ctx.res)
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined
      throw error
    }
  }

  async function ask(ctx: Context, interaction: Interaction): Promise<void> {
    if (interaction.prompt.name === 'login') return signInPage(ctx, interaction)
    const person = findPerson(interaction.session?.accountId ?? '')
    const client = await provider.Client.find(String(interaction.params.client_id))
    if (!person || !client) return expiredPage(ctx)
    return consentPage(ctx, interaction, { client, person })
  }

  /** Sends the browser back to the provider. */
  async function finish(ctx: Context, result: InteractionResults): Promise<void> {
    // The provider writes the response itself.
    ctx.respond = false
    await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: true })
  }
  return router
}
