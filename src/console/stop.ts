import { invalidRequest } from '../management/errors.ts'
import { showSubjectToken } from '../management/inspect.ts'
import { parseRevocationRequest } from '../management/revocation-request.ts'
import { revokeSubjectToken } from '../management/revoke.ts'
import { readForm } from './form.ts'
import { may } from './page.ts'
import { writeRecord } from './record.ts'
import { inputErrorOf } from './refusal.ts'
import { byConsole, type Visit } from './visit.ts'
import { sentenceOf } from './words.ts'

/** Stops one, for a reason, and leads to its record. */
export async function stopOne(visit: Visit): Promise<void> {
  const { ctx, service, base } = visit
  const form = await readForm(ctx, ['id', 'reason'])
  const { id, reason = '' } = form.typed
  if (id === undefined) throw invalidRequest({ public: 'id is required' })
  const record = await showSubjectToken(service, id)
  try {
    const { says } = parseRevocationRequest({ reason: '', ...form.fields() })
    await revokeSubjectToken(service, id, { ...byConsole(visit), ...says })
  } catch (thrown) {
    // The page is the record.
    if (!may(visit, 'see')) throw thrown
    const error = sentenceOf(inputErrorOf(thrown))
    ctx.status = 400
    return writeRecord(visit, record, { reason, error })
  }
  ctx.status = 303
  ctx.redirect(`${base}/${id}`)
}
