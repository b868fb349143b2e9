/** Forms as browsers send them, or as a parser of the host application has left them. */
import type { Context } from 'koa'
import { parsedBody, read } from '../base/body.ts'
import { invalidRequest } from '../base/errors.ts'
import { isPlainObject } from '../base/json.ts'

const notAForm = () => invalidRequest({ public: 'the body must be a form' })

/** The members of a form of at most `limit` bytes. None may come twice: which of them counts is not for us to say. */
export async function readMembers(ctx: Context, limit: number): Promise<ReadonlyMap<string, string>> {
  if (ctx.request.type.trim().toLowerCase() !== 'application/x-www-form-urlencoded') throw notAForm()
  const parsed = parsedBody(ctx) ?? (await read(ctx, limit))
  const pairs =
    typeof parsed === 'string' || Buffer.isBuffer(parsed)
      ? [...new URLSearchParams(parsed.toString())]
      : pairsOf(parsed)
  const members = new Map(pairs)
  if (members.size < pairs.length) throw invalidRequest({ public: 'a member of the form was sent twice' })
  return members
}

function pairsOf(parsed: unknown): [string, string][] {
  if (!isPlainObject(parsed)) throw notAForm()
  return Object.entries(parsed).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => {
      if (typeof one !== 'string') throw notAForm()
      return [name, one]
    }),
  )
}
