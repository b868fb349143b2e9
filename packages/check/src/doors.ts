/** Options that leave a door open, and where the management API is reached. */
import type { Deployment } from 'oidc-provider-impersonation/inside'
import { type Finding, fault, note, ok, warning } from './finding.ts'

/** Longer than this, a JWT that no one can stop is a risk of its own: 15 minutes. */
const LONG_LIFE = 900

export function checkDoors({ inside: { options } }: Deployment): Finding[] {
  const { requireActor, isAllowed, statusList, maxAccessTokenTTL } = options
  const findings: Finding[] = []
  if (!requireActor) {
    const text =
      'an exchange without an actor token is accepted: the access token then says nothing of who acts'
    findings.push(warning('actor', text, 'set requireActor: true if every engineer signs in'))
  }
  if (!isAllowed) {
    findings.push(warning('policy', 'there is no isAllowed: every user may be impersonated', 'set isAllowed'))
  }
  if (statusList === false && maxAccessTokenTTL > LONG_LIFE) {
    const text = `a JWT lives for up to ${maxAccessTokenTTL} s, and statusList is false: nothing can stop it`
    const advice = `switch status lists on, or set maxAccessTokenTTL to ${LONG_LIFE} or less`
    findings.push(warning('stop', text, advice))
  }
  return findings.length > 0 ? findings : [ok('options', 'none leaves a door open')]
}

export function checkMounting({ inside: { provider, settings, prefixes } }: Deployment): Finding {
  const about = 'management API'
  const resource = settings.managementResource(provider)
  if (prefixes.length === 0) return note(about, 'not checked: the module does not call router() or handler()')
  const path = URL.parse(resource)?.pathname.replace(/\/$/, '') ?? ''
  if (prefixes.includes(path)) return ok(about, `${resource} is where it is mounted`)
  const mounted = prefixes.map((prefix) => prefix || '/').join(', ')
  const text = `Location names ${resource}, but it is mounted at ${mounted}`
  const advice = 'set managementResource to the address under which clients reach it, or mount it there'
  const mayBeBelow = prefixes.some((prefix) => path.endsWith(prefix))
  return mayBeBelow
    ? warning(about, text, `${advice}; ignore this if your application is itself mounted below ${path}`)
    : fault(about, text, advice)
}
