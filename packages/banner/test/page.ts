/** A page of someone else's that shows the banner. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { ROOT } from '../../../fixtures/markdown.ts'

const BANNER = readFileSync(path.join(ROOT, 'packages/banner/src/banner.js'), 'utf8')
export const ADDRESS = '/vendor/impersonation-banner.js'

const TYPES: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css' }

/**
 * Serves `page` at `/`, `script` at `/page.js`, the banner where docs/banner.md serves it, and other files by their path.
 * Those without an extension are pages.
 */
export function serveBannerPage(
  policy: string,
  page: string,
  script: string,
  others: Record<string, string> = {},
): Promise<Listening> {
  const files: Record<string, string> = { '/': page, '/page.js': script, [ADDRESS]: BANNER, ...others }
  const server = createServer(({ url = '' }, response) => {
    const text = files[url]
    if (text === undefined) return response.writeHead(204).end()
    const type = TYPES[path.extname(url)]
    if (!type) response.setHeader('Content-Security-Policy', policy)
    return response.setHeader('Content-Type', `${type ?? 'text/html'}; charset=utf-8`).end(text)
  })
  return listen(server)
}
