/** The drawer "How this works": what the API saw, the access token, and the requests on the wire. */
import { MEANINGS, TIMES } from '../claims.js'
import { ordersApi } from '../configuration.js'
import { byId, element, fact } from '../element.js'
import { clock } from '../times.js'
import { wirePanel } from './wire-panel.js'

const CURL = `curl -H "Authorization: Bearer $ACCESS_TOKEN" ${ordersApi}/orders`

export function showHow({ recordId, claims, orders, wire }) {
  const { customer: seen, actor, scope, impersonation, billing } = orders
  byId('api-saw').replaceChildren(
    ...coded('customer', seen),
    ...coded('actor', actor),
    ...coded('scope', scope),
    // The orders API has asked another API, which knows the whole chain.
    ...(billing ? fact('billing', chainOf(billing)) : []),
    ...coded('impersonation', impersonation),
  )
  byId('copy').replaceChildren(
    ...coded('Record', recordId),
    ...(claims.jti ? coded('jti', claims.jti) : []),
    ...coded('curl', CURL),
  )
  const others = Object.keys(claims).filter((name) => !(name in MEANINGS))
  byId('claims').replaceChildren(
    ...[...Object.keys(MEANINGS), ...others]
      .filter((name) => name in claims)
      .map((name) => claim(name, claims)),
  )
  byId('wire').replaceChildren(wirePanel(wire))
}

export function clearHow() {
  for (const id of ['api-saw', 'copy', 'claims', 'wire']) byId(id).replaceChildren()
}

/** Whose data an API behind the orders API showed, and who stood in between: alice ← sam ← orders-api. */
const chainOf = ({ customer, actor, through }) =>
  [customer, ...(actor ? [actor.sub] : []), ...through.toReversed()].join(' ← ')

const coded = (name, value) => fact(name, element('code', {}, written(value)))

function claim(name, claims) {
  const time = TIMES.includes(name) ? ` (${clock(claims[name])})` : ''
  return element(
    'div',
    {},
    ...coded(name, claims[name] && written(claims[name]) + time),
    element('dd', { className: 'meaning' }, MEANINGS[name] ?? 'Another claim of this deployment.'),
  )
}

const written = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
