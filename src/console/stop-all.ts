import { invalidRequest } from '../management/errors.ts'
import { onlyOne } from '../management/fields.ts'
import { single } from '../management/list-request.ts'
import { killFilterOf, parseRevocationRequest } from '../management/revocation-request.ts'
import { revokeSubjectTokens } from '../management/revoke.ts'
import { readForm } from './form.ts'
import { html } from './html.ts'
import { may, pageOf } from './page.ts'
import { addressOf } from './pager.ts'
import { inputErrorOf } from './refusal.ts'
import { type Person, personForms, stopAllForm, type TypedStop } from './stop-all-form.ts'
import { errorLine } from './stop-form.ts'
import { countStoppable } from './stoppable.ts'
import { byConsole, namesIn, type Visit } from './visit.ts'
import { sentenceOf } from './words.ts'

const PERSON = ['userId', 'actorId'] as const

/** The page before the kill switch: how many it will stop. */
export async function confirmStopAll(visit: Visit): Promise<void> {
  let person: Person | undefined
  try {
    person = personIn(single(visit.ctx.querystring, PERSON))
  } catch (thrown) {
    return writePage(visit, undefined, { error: sentenceOf(inputErrorOf(thrown)) })
  }
  await writePage(visit, person)
}

/** The kill switch, for a reason, once the id was typed again. Leads to what was stopped, or to how many are left. */
export async function stopAll(visit: Visit): Promise<void> {
  const { ctx, service, lookup, base } = visit
  let person: Person | undefined
  let typed: TypedStop = {}
  try {
    const form = await readForm(ctx, [...PERSON, 'reason', 'confirm'])
    typed = form.typed
    const { reason = '', confirm, ...given } = form.fields()
    person = personIn(given)
    const { says } = parseRevocationRequest({ ...person.filter, reason })
    if (confirm !== person.id) throw invalidRequest({ public: 'the id must be typed exactly as shown' })
    await revokeSubjectTokens(service, lookup, person.filter, { ...byConsole(visit), ...says })
  } catch (thrown) {
    return writePage(visit, person, { ...typed, error: sentenceOf(inputErrorOf(thrown)) })
  }
  const whose = { [person.field]: person.id }
  ctx.status = 303
  ctx.redirect(
    may(visit, 'see')
      ? addressOf(`${base}/history`, { ...whose, state: 'revoked' })
      : addressOf(`${base}/stop-all`, whose),
  )
}

function personIn(given: Readonly<Partial<Record<(typeof PERSON)[number], string>>>): Person {
  const field = onlyOne(given, PERSON)
  const filter = killFilterOf(field, given)
  return { field, id: given[field] ?? '', filter }
}

async function writePage(visit: Visit, person: Person | undefined, typed: TypedStop = {}): Promise<void> {
  const count = person && (await countStoppable(visit, person))
  const names = await namesIn(visit, [], person && [person.id])
  const whose = person?.field === 'actorId' ? 'engineer' : 'user'
  if (typed.error !== undefined) visit.ctx.status = 400
  visit.ctx.body = pageOf(visit, {
    title: 'Stop all',
    who: names.short(visit.administrator.id),
    body: person
      ? html`<h1>Stop all of ${names.short(person.id)}</h1>
<p>This will stop <strong>${count}</strong> of the ${whose} ${names.whole(person.id)}: every subject token that was not used yet, and every access token that is still valid.</p>
${errorLine(typed.error)}${stopAllForm(visit, person, typed)}`
      : html`<h1>Stop all of a person</h1>
${errorLine(typed.error)}${personForms(visit)}`,
  })
}
