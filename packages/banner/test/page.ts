/** A page of someone else's that shows the banner. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { ROOT } from '../../../fixtures/markdown.ts'

const BANNER = readFileSync(path.join(ROOT, 'packages/banner/src/banner.js'), 'utf8')
export const ADDRESS = '/vendor/impersonation-banner.js'

export interface BannerPage {
  readonly baseUrl: string
  close(): void
}

const TYPES: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css' }

/**
 * Serves `page` at `/`, `script` at `/page.js`, the banner where docs/banner.md serves it, and other files by their path.
 * Those without an extension are pages.
 */
export async function serveBannerPage(
  policy: string,
  page: string,
  script: string,
  others: Record<string, string> = {},
): Promise<BannerPage> {
  const files: Record<string, string> = { '/': page, '/page.js': script, [ADDRESS]: BANNER, ...others }
  const server = createServer(({ url = '' }, response) => {
    const text = files[url]
    if (text === undefined) return response.writeHead(204).end()
    const type = TYPES[path.extname(url)]
    if (!type) response.setHeader('Content-Security-Policy', policy)
    return response.setHeader('Content-Type', `${type ?? 'text/html'}; charset=utf-8`).end(text)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
