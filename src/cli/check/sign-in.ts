/** Whether the access tokens of engineers who sign in can be actor tokens (docs/integrate.md, The engineer's token). */
import type { Client } from 'oidc-provider'
import { CLIENT_CREDENTIALS, TOKEN_EXCHANGE } from '../../constants.ts'
import { requestedResourceServers } from '../../provider/grants.ts'
import { contextOf } from './context.ts'
import { type Finding, fault, messageOf, namesOf, note, ok, warning } from './finding.ts'
import { inTime } from './in-time.ts'
import type { Deployment } from './module.ts'

const ABOUT = 'actor tokens'

interface SignIns {
  readonly clients: readonly Client[]
  readonly exchangers: readonly Client[]
  /** The client whose tokens must act, because someone does there. */
  readonly actsAt: string | undefined
}

/** Clients that sign people in and exchange are looked at one by one; of those that only sign them in, one is enough. */
export async function checkSignIn(
  { inside }: Deployment,
  { clients, exchangers, actsAt }: SignIns,
): Promise<Finding[]> {
  const acting: Client[] = []
  const mute: { readonly client: Client; readonly api: string }[] = []
  try {
    for (const client of clients.filter(signsIn)) {
      const api = await apiOf(inside, client)
      if (api === undefined) acting.push(client)
      else mute.push({ client, api })
    }
  } catch (error) {
    return [note(ABOUT, `not checked: ${messageOf(error)}`)]
  }
  const own = mute.filter(({ client }) => exchangers.includes(client))
  const found = own.length > 0 || acting.length > 0 ? own : mute
  if (found.length === 0) return acting.length === 0 ? [] : [ok(ABOUT, `those of ${namesOf(acting)} can act`)]
  const noOneCan = inside.options.requireActor && acting.length === 0
  return found.map(({ client: { clientId }, api }) => {
    const level = noOneCan || clientId === actsAt ? fault : warning
    const text = `who signs in at "${clientId}" gets a token for ${api}, because of defaultResource and useGrantedResource: it lacks openid, and cannot act`
    return level(ABOUT, text, `let useGrantedResource return false for "${clientId}"`)
  })
}

const signsIn = ({ grantTypes = [] }: Client): boolean =>
  grantTypes.some((grant) => grant !== TOKEN_EXCHANGE && grant !== CLIENT_CREDENTIALS)

/** The API that a token is for, and for no more, if someone signs in who asked for `openid` and named no resource. */
async function apiOf(inside: Deployment['inside'], client: Client): Promise<string | undefined> {
  const { provider, configuration } = inside
  const { resourceIndicators, userinfo } = configuration.features ?? {}
  const servers = requestedResourceServers(contextOf(inside, client, { scope: 'openid' }))
  const [server] = await inTime(inside, 'the look-up of what defaultResource returns', servers)
  if (!server || server.scopes.has('openid')) return undefined
  const resource = server.identifier()
  const of = { client, accountId: 'an engineer', scope: 'openid', resource }
  const code = new provider.AuthorizationCode(of as never)
  const granted = Promise.resolve(resourceIndicators?.useGrantedResource?.(contextOf(inside, client), code))
  const isUsed = await inTime(inside, 'useGrantedResource', granted)
  return isUsed || userinfo?.enabled === false ? resource : undefined
}
