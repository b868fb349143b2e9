import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { startExample } from '../../example/deployment.ts'
import type { Scenery } from './scenery.ts'

/** The running example. */
export async function openDesk(): Promise<Scenery> {
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-screenshots-'))
  const example = await startExample({ port: 0, storage: path.join(folder, 'desk.sqlite'), log: () => {} })
  return {
    baseUrl: example.baseUrl,
    views: { desk: openView },
    async close() {
      await example.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Signs in as an engineer, and opens a customer's account with a reason. */
async function openView(page: Page): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name }).click()
  await page.goto('/')
  await button('Sign in')
  await button('Sam Sawyer')
  await button('Allow')
  await button('View as Alice Archer')
  await page.getByLabel('Reason').fill('A teapot is missing from the last order')
  await page.getByLabel('Ticket').fill('T-1')
  await button('Start')
  await page.getByRole('heading', { level: 1, name: 'Viewing as Alice Archer' }).waitFor()
}
