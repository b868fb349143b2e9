import type { Context } from 'koa'
import { parsedBody, read } from '../management/body.ts'
import { invalidRequest } from '../management/errors.ts'
import { single } from '../management/list-request.ts'
import { isPlainObject } from '../plain-json.ts'
import { inputErrorOf } from './refusal.ts'

/** The fields of a form, as a browser sends them or as a parser of the host application has left them. */
export interface Form<Name extends string> {
  /** The first value of each field, for a page that shows what was typed. */
  readonly typed: Readonly<Partial<Record<Name, string>>>
  /** Each of the fields at most once. @throws a refusal for a field that is repeated or unknown. */
  fields(): Readonly<Partial<Record<Name, string>>>
}

export async function readForm<Name extends string>(
  ctx: Context,
  names: readonly Name[],
): Promise<Form<Name>> {
  const { type } = ctx.request
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw invalidRequest({ public: 'the body must be a form' })
  const parsed = parsedBody(ctx)
  const body = parsed === undefined ? await readText(ctx) : fromParser(parsed)
  const given = new URLSearchParams(body)
  const typed: Partial<Record<Name, string>> = {}
  for (const name of names) typed[name] = given.get(name) ?? undefined
  return { typed, fields: () => single(body, names) }
}

/** At most 64 KiB. */
async function readText(ctx: Context): Promise<string> {
  try {
    return (await read(ctx)).toString()
  } catch (error) {
    throw invalidRequest({ public: inputErrorOf(error) })
  }
}

function fromParser(body: unknown): string {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body.toString()
  if (!isPlainObject(body)) throw invalidRequest({ public: 'the body must be a form' })
  const fields = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => [name, one] as const),
  )
  const form = new URLSearchParams()
  for (const [name, value] of fields) {
    if (typeof value !== 'string') throw invalidRequest({ public: 'the body must be a form' })
    form.append(name, value)
  }
  return String(form)
}
