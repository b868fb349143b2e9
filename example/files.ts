/** Files with fixed names. All are read at start, so the path of a request never reaches the file system. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Middleware } from 'koa'

/** No documents: they are sent with a policy of their own. */
const TYPES = ['.css', '.js', '.svg']

export interface ServedFile {
  /** The extension, from which Koa derives the media type. */
  readonly type: string
  readonly content: Buffer
}

export function readServedFile(file: string): ServedFile {
  return { type: path.extname(file), content: readFileSync(file) }
}

/** Every file of a folder, by its address below `prefix`. */
export function readServedFiles(folder: string, prefix: string): Map<string, ServedFile> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll(path.sep, '/'),
  )
  const served = names.filter((name) => TYPES.includes(path.extname(name)))
  return new Map(served.map((name) => [`${prefix}/${name}`, readServedFile(path.join(folder, name))]))
}

export function serve(files: ReadonlyMap<string, ServedFile>): Middleware {
  return (ctx, next) => {
    const file = files.get(ctx.path)
    if (!file) return next()
    ctx.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' })
    ctx.type = file.type
    ctx.body = file.content
  }
}
