/** Who is calling: the engineer whose access token the request carries. */
import type { Context, Middleware } from 'koa'
import { findPerson, type Person } from '../accounts.ts'
import { supportDesk } from '../clients.ts'
import type { Introspect } from './provider.ts'
import { denied, invalidToken, missingToken } from './refusal.ts'

/** Lets support engineers pass if they are signed in at the support desk. */
export function authenticate(introspect: Introspect): Middleware {
  return async (ctx: Context, next) => {
    if (!ctx.get('Authorization')) throw missingToken()
    const [, token] = /^Bearer +([\w\-.~+/]+=*)$/i.exec(ctx.get('Authorization')) ?? []
    if (!token) throw invalidToken()
    const { active, client_id, sub, act, cnf, status } = await introspect(token)
    // Issued to the desk, for the engineer in person (no `act`, which would name someone else, and no `status`, which marks
    // an impersonation without actor), and not bound to a key, because proofs are not checked here.
    const isOwn = client_id === supportDesk.client_id && !act && !status && !cnf
    const good = active && isOwn && typeof sub === 'string'
    if (!good) throw invalidToken()
    const person = findPerson(sub)
    if (person?.role !== 'support')
      throw denied('The support desk is for support engineers. Sign out, and sign in as one.')
    ctx.state.engineer = person
    await next()
  }
}

export const engineerOf = (ctx: Context): Person => ctx.state.engineer
