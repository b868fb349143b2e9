/** Which APIs may exchange the tokens they receive, and whether they can get where they are registered to go. */
import type { Client } from 'oidc-provider'
import { TOKEN_EXCHANGE } from '../../constants.ts'
import { authenticates, registeredAudiences, registeredResources } from '../../provider/clients.ts'
import { type Finding, fault, namedOrNone, namesOf, warning } from './finding.ts'
import type { Deployment } from './module.ts'
import { audienceOf, type LookUp } from './resources.ts'

const ABOUT = 'downstream'

export async function checkDownstream(
  { inside: { options } }: Deployment,
  clients: readonly Client[],
  lookUp: LookUp,
): Promise<Finding[]> {
  const { onBehalfOf } = options
  const apis = clients.filter(isApi)
  if (!onBehalfOf) {
    const text = `onBehalfOf is off, so these can exchange nothing, because of their token_exchange_audiences: ${namesOf(apis)}`
    return apis.length === 0
      ? []
      : [warning(ABOUT, text, 'set onBehalfOf, or remove token_exchange_audiences')]
  }
  const findings = [namedOrNone('who may go downstream', apis)]
  findings.push(...checkShared(apis))
  for (const api of apis) {
    findings.push(
      ...checkDoor(api),
      ...(await checkAudiences(api, clients, lookUp)),
      ...(await checkTargets(api, lookUp)),
    )
  }
  return findings
}

/** It exchanges the tokens it receives, and never a subject token. */
export const isApi = (client: Client): boolean => registeredAudiences(client.metadata()) !== undefined

/** A client with an audience can exchange the tokens of that API. */
function checkShared(apis: readonly Client[]): Finding[] {
  const audiences = new Set(apis.flatMap(audiencesOf))
  return [...audiences].flatMap((audience) => {
    const sharing = apis.filter((api) => audiencesOf(api).includes(audience))
    if (sharing.length < 2) return []
    const text = `${namesOf(sharing)} all exchange tokens for ${audience}`
    return [warning(ABOUT, text, 'leave the audience to the API that has it')]
  })
}

/** Without these, every request of the client is refused. */
function checkDoor(api: Client): Finding[] {
  const { clientId } = api
  const findings: Finding[] = []
  if (!authenticates(api)) {
    const text = `"${clientId}" does not authenticate: anyone could send its id, so it is refused`
    findings.push(fault(ABOUT, text, 'give it a secret or a key, or remove token_exchange_audiences'))
  }
  if (!api.grantTypes?.includes(TOKEN_EXCHANGE)) {
    const text = `"${clientId}" has token_exchange_audiences, and not the grant`
    findings.push(fault(ABOUT, text, `add ${TOKEN_EXCHANGE} to its grant_types`))
  }
  return findings
}

async function checkAudiences(api: Client, clients: readonly Client[], lookUp: LookUp): Promise<Finding[]> {
  const { clientId } = api
  const audiences = audiencesOf(api)
  if (audiences.length === 0) {
    const text = `"${clientId}" has no audience: it can exchange no token`
    return [fault(ABOUT, text, 'name in token_exchange_audiences what aud of its tokens says')]
  }
  const issued = new Set<string>()
  for (const resource of [...audiences, ...clients.flatMap(resourcesOf)]) {
    for (const client of clients) {
      const found = await lookUp(resource, client)
      if (typeof found === 'object') issued.add(audienceOf(found))
    }
  }
  const advice = 'compare it, character by character, with what getResourceServerInfo returns as audience'
  const strange = audiences.filter((audience) => !issued.has(audience))
  return strange.map((audience) => {
    const text = `"${clientId}" exchanges tokens for ${audience}, and no resource that is known here has that audience`
    return warning(ABOUT, text, advice)
  })
}

async function checkTargets(api: Client, lookUp: LookUp): Promise<Finding[]> {
  const { clientId } = api
  const resources = resourcesOf(api)
  if (resources.length === 0) {
    const text = `"${clientId}" may go nowhere: it has no token_exchange_resources`
    return [fault(ABOUT, text, 'name in token_exchange_resources the resources of the APIs that it calls')]
  }
  const findings = await Promise.all(resources.map((resource) => checkTarget(api, resource, lookUp)))
  return findings.flat()
}

async function checkTarget(api: Client, resource: string, lookUp: LookUp): Promise<Finding[]> {
  const found = await lookUp(resource, api)
  const start = `"${api.clientId}" may go to ${resource}`
  if (found === undefined)
    return [fault(ABOUT, `${start}, which is no resource for it`, 'let getResourceServerInfo return it')]
  if (typeof found === 'string')
    return [fault(ABOUT, `${start}: getResourceServerInfo fails: ${found}`, 'correct the function')]
  if (found.accessTokenFormat !== 'jwt') {
    const text = `${start}, whose tokens are opaque: nothing could end them with the first one`
    return [fault(ABOUT, text, "set accessTokenFormat: 'jwt' for that resource")]
  }
  const own = audiencesOf(api)
  if (own.includes(audienceOf(found)) || own.includes(resource)) {
    const text = `${start}, which is the API itself`
    return [warning(ABOUT, text, 'remove it from token_exchange_resources')]
  }
  return []
}

const audiencesOf = (client: Client): readonly string[] => registeredAudiences(client.metadata()) ?? []
const resourcesOf = (client: Client): readonly string[] => registeredResources(client.metadata()) ?? []
