import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { invalidRequest } from './errors.ts'
import { isPlainObject } from './json.ts'

export const LIMIT = 64 * 1024

/** The JSON object in the request's body (RFC 8259), read here or by a parser of the host application. */
export async function readJsonObject(ctx: Context): Promise<Record<string, unknown>> {
  assertMediaType(ctx)
  const parsed = parsedBody(ctx)
  const body = parsed === undefined ? parse(await read(ctx)) : fromParser(parsed)
  if (!isPlainObject(body)) throw invalidRequest({ public: 'the body must be a JSON object' })
  return body
}

/** The body as a parser of the host application left it. */
export function parsedBody({ request, req }: Context): unknown {
  const parsed: unknown = Reflect.get(request, 'body') ?? Reflect.get(req, 'body')
  // Parsers of Express 4 leave an empty object when they do not read the body, because it is not of their media type.
  const unread = isPlainObject(parsed) && Object.keys(parsed).length === 0 && !req.readableDidRead
  return unread ? undefined : parsed
}

function assertMediaType(ctx: Context): void {
  const { type, charset } = ctx.request
  if (type.trim().toLowerCase() !== 'application/json')
    throw invalidRequest({ status: 415, public: 'the body must be application/json' })
  if (charset && charset.toLowerCase() !== 'utf-8')
    throw invalidRequest({ status: 415, public: 'the body must be UTF-8' })
  if (ctx.get('Content-Encoding'))
    throw invalidRequest({ status: 415, public: 'the body must not be encoded' })
}

/** The bytes of the body, at most `limit`. */
export async function read(ctx: Context, limit = LIMIT): Promise<Buffer> {
  try {
    return await getRawBody(ctx.req, { length: ctx.get('Content-Length') || undefined, limit })
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'status') === 413) throw tooLarge(limit)
    throw invalidRequest({ public: 'the body could not be read' })
  }
}

/** A parser of the host application may have left text, bytes, or a parsed value. */
function fromParser(body: unknown): unknown {
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    if (Buffer.byteLength(body) > LIMIT) throw tooLarge()
    return parse(Buffer.from(body))
  }
  if (Buffer.byteLength(serialize(body)) > LIMIT) throw tooLarge()
  return body
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalidRequest({ public: 'the body must be JSON' })
  }
}

/** A parsed value may be nested deeper than `JSON.stringify` can follow. */
function serialize(body: unknown): string {
  try {
    return JSON.stringify(body) ?? ''
  } catch {
    throw invalidRequest({ public: 'the body must be JSON' })
  }
}

const tooLarge = (limit = LIMIT) =>
  invalidRequest({ status: 413, public: `the body must not exceed ${limit} bytes` })
