/** The option `sessions`: its door, and whether the applications can be told when a session ends. */

import { lookup } from 'node:dns/promises'
import { BlockList, isIPv6 } from 'node:net'
import type { Client, Configuration } from 'oidc-provider'
import { canBeTold, type Deployment, keysOf, within } from 'oidc-provider-impersonation/inside'
import { type Finding, fault, namedOrNone, namesOf, note, ok, warning } from './finding.ts'

/** `clients`: those that can be read. */
export async function checkSessions({ inside }: Deployment, clients: readonly Client[]): Promise<Finding[]> {
  const { options, configuration, sessions } = inside
  if (!options.sessions) return []
  const open = clients.filter((client) => sessions.isOpen?.(client))
  return [
    checkDoor(inside, options.sessions.door),
    checkKeys(configuration),
    namedOrNone('who can be opened', open),
    ...(await checkLogout(open, configuration.fetch === undefined)),
  ]
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/

function checkDoor({ prefixes, sessions: { isServed } }: Deployment['inside'], door: URL): Finding {
  const about = 'door'
  if (!isServed && prefixes.length === 0)
    return note(about, 'not checked: the module does not call router() or handler()')
  if (!isServed) {
    const text = `${door.href} is not served by this process`
    return warning(about, text, "mount router() or handler(), whole or with only: 'door'")
  }
  if (door.protocol !== 'https:' && !LOOPBACK.test(door.hostname)) {
    const text = `${door.href} is not https: what a browser carries to the application can be read and copied`
    return fault(about, text, 'serve the provider and the door by https')
  }
  return ok(about, `${door.href} is served, on the origin of the issuer`)
}

/** Bytes. A key of less can be guessed from one cookie. */
const SHORTEST_KEY = 32

function checkKeys(configuration: Configuration): Finding {
  const about = 'door keys'
  const keys = keysOf(configuration)
  const short = keys.filter((key) => Buffer.byteLength(key) < SHORTEST_KEY).length
  if (short === 0) return ok(about, `the first of ${keys.length} cookies.keys seals, and all of them open`)
  const text = `${short} of ${keys.length} cookies.keys have fewer than ${SHORTEST_KEY} bytes: who guesses one can forge what the door seals`
  return warning(about, text, `use ${SHORTEST_KEY} random bytes for each`)
}

async function checkLogout(open: readonly Client[], isOwnFetch: boolean): Promise<Finding[]> {
  const about = 'logout'
  const told = open.filter((client) => canBeTold(client))
  const unended = open.filter((client) => !told.includes(client))
  const text = `cannot be told when a session ends, so that their own may last: ${namesOf(unended)}`
  const advice = 'give them backchannel_logout_uri and backchannel_logout_session_required'
  const unreached = isOwnFetch ? (await Promise.all(told.map(reach))).flat() : []
  const reached = told.filter(
    ({ clientId }) => !unreached.some((finding) => finding.text.startsWith(`"${clientId}"`)),
  )
  return [
    ...(reached.length > 0 ? [ok(about, `can be told when a session ends: ${namesOf(reached)}`)] : []),
    ...(unended.length > 0 ? [warning(about, text, advice)] : []),
    ...unreached,
  ]
}

/** Addresses to which oidc-provider does not connect by itself: of this machine, of private networks, and of no one. */
const INTERNAL = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['240.0.0.0', 4],
] as const)
  INTERNAL.addSubnet(net, prefix)
for (const [net, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  INTERNAL.addSubnet(net, prefix, 'ipv6')

/** Seconds. */
const LOOK_UP = 3

/** Whether the provider's own `fetch` would connect to where the application is told. */
async function reach({ clientId, backchannelLogoutUri = '' }: Client): Promise<Finding[]> {
  const about = 'logout'
  const { hostname } = new URL(backchannelLogoutUri)
  try {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = await within(LOOK_UP, lookup(host, { all: true }))
    const internal = addresses.find(({ address }) =>
      INTERNAL.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'),
    )
    if (!internal) return []
    const text = `"${clientId}" is at ${internal.address}: oidc-provider's own fetch connects to no internal address, so it is never told`
    return [fault(about, text, 'set fetch in the configuration of the provider')]
  } catch {
    return [note(about, `"${clientId}" was not looked at: there is no address of ${hostname} here`)]
  }
}
