import type { SubjectTokenStore } from 'oidc-provider-impersonation'
import {
  type Deployment,
  defaultBase,
  defaultManagementResource,
  epochTime,
  messageOf,
  resolveStatusLists,
} from 'oidc-provider-impersonation/inside'
import { type Finding, fault, note, ok, warning } from './finding.ts'

/** Whether another issuer of the database has the address of this one's lists: only one can be served there. */
export async function checkStatusLists({ inside, issuers = [] }: Deployment): Promise<Finding[]> {
  const about = 'status lists'
  const { options, provider, settings } = inside
  const base = resolveStatusLists(options.statusList, settings.managementResource(provider))?.base
  if (base === undefined) return []
  const beside = issuers.filter(({ issuer }) => issuer !== provider.issuer)
  const same = beside.filter(({ statusLists }) => statusLists === base).map(({ issuer }) => issuer)
  const one = 'only one issuer can have its lists there, and APIs refuse the JWTs of the others'
  if (same.length > 0) {
    const text = `${base} is also the address of ${same.join(' and ')}: ${one}`
    return [fault(about, text, 'set managementResource or statusList.uri for all but one of them')]
  }
  try {
    const namesakes = namesakesOf(provider.issuer, base)
    const unseen = namesakes.filter((name) => !beside.some(({ issuer }) => issuer === name))
    const others = await withRecords(options.store, unseen)
    if (others.length > 0) {
      const text = `${base} is also the default address of ${others.join(' and ')}: ${one}`
      const advice =
        'set managementResource or statusList.uri for one of them; ignore this if the other issuer has set it'
      return [warning(about, text, advice)]
    }
    return base === defaultBase(defaultManagementResource(provider.issuer))
      ? [ok(about, `${base} is the default address of no other issuer in this database`)]
      : [note(about, `${base} is set by an option: no other issuer may have the same address`)]
  } catch (error) {
    return [note(about, `not checked: ${messageOf(error)}`)]
  }
}

/** The other issuers whose lists are at this address unless an option says otherwise. */
const namesakesOf = (issuer: string, base: string): string[] =>
  ['', '/', '/oidc', '/oidc/']
    .map((ending) => base.replace(/\/api\/status-lists$/, ending))
    .filter((other) => other !== issuer && defaultBase(defaultManagementResource(other)) === base)

async function withRecords(store: SubjectTokenStore, issuers: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const issuer of issuers) {
    const { tokens } = await store.list(issuer, {}, { limit: 1, now: epochTime() })
    if (tokens.length > 0) found.push(issuer)
  }
  return found
}
