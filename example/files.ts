/** Files with fixed names. All are read and compressed at start, so the path of a request never reaches the file system. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Context, Middleware } from 'koa'

/** No documents: they are sent with a policy of their own. */
const TYPES = ['.css', '.js', '.svg']

export interface ServedFile {
  /** The extension, from which Koa derives the media type. */
  readonly type: string
  /** Weak, because it names the content in every coding. */
  readonly etag: string
  readonly content: Readonly<Record<string, Buffer>>
}

export const readServedFile = (file: string): ServedFile => servedFile(path.extname(file), readFileSync(file))

export function servedFile(type: string, identity: Buffer): ServedFile {
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`
  return { type, etag, content: { br: brotliCompressSync(identity), gzip: gzipSync(identity), identity } }
}

const BASE = ['../src/pages/design.css', 'base.css'].map((file) => path.join(import.meta.dirname, file))

/** The design of the console, and what all pages here share. */
export const baseStyle = servedFile('.css', Buffer.concat(BASE.map((file) => readFileSync(file))))

/** Every file of a folder, by its address below `prefix`. */
export function readServedFiles(folder: string, prefix: string): Map<string, ServedFile> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll(path.sep, '/'),
  )
  const served = names.filter((name) => TYPES.includes(path.extname(name)))
  return new Map(served.map((name) => [`${prefix}/${name}`, readServedFile(path.join(folder, name))]))
}

/** Changes when one of the files does. */
export function versionOf(files: ReadonlyMap<string, ServedFile>): string {
  const hash = createHash('sha256')
  for (const [address, { etag }] of files) hash.update(`${address} ${etag}\n`)
  return hash.digest('base64url').slice(0, 12)
}

/** For addresses that hold a version. */
export const FOREVER = 'public, max-age=31536000, immutable'
/** The browser asks each time, and learns in a few bytes that nothing has changed. */
const EACH_TIME = 'no-cache'

export function serve(files: ReadonlyMap<string, ServedFile>, cacheControl = EACH_TIME): Middleware {
  return (ctx, next) => {
    const file = files.get(ctx.path)
    if (!file) return next()
    ctx.vary('Accept-Encoding')
    ctx.set({
      'Cache-Control': cacheControl,
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'X-Robots-Tag': 'noindex',
    })
    ctx.etag = file.etag
    ctx.status = 200
    if (ctx.fresh) ctx.status = 304
    else sendFile(ctx, file)
  }
}

/** In the first coding of ours that the browser accepts. */
export function sendFile(ctx: Context, { type, content }: ServedFile): void {
  const coding = ctx.acceptsEncodings(Object.keys(content)) || 'identity'
  if (coding !== 'identity') ctx.set('Content-Encoding', coding)
  ctx.type = type
  ctx.body = content[coding]
}
