/** A page of someone else's that shows the banner, under the strictest policy that the banner works with. */
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

/** Serves `page` at `/`, `script` at `/page.js`, and the banner where docs/banner.md serves it. */
export async function serveBannerPage(policy: string, page: string, script: string): Promise<BannerPage> {
  const server = createServer(({ url }, response) => {
    if (url === '/') {
      response.setHeader('Content-Security-Policy', policy)
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page)
    } else if (url === ADDRESS || url === '/page.js') {
      response.setHeader('Content-Type', 'text/javascript').end(url === ADDRESS ? BANNER : script)
    } else response.writeHead(204).end()
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
