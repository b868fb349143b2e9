import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { type Example, startExample } from '../../example/deployment.ts'
import type { Scenery } from './scenery.ts'

/** The running example. */
export async function openDesk(): Promise<Scenery> {
  const { example, close } = await startForPictures()
  return {
    baseUrl: example.baseUrl,
    views: { desk: openView, 'desk-stopped': (page) => stopView(page, example) },
    close,
  }
}

export async function startForPictures() {
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-screenshots-'))
  const example = await startExample({ port: 0, storage: path.join(folder, 'desk.sqlite'), log: () => {} })
  return {
    example,
    async close() {
      await example.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Signs in as an engineer. */
export async function signIn(page: Page): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name }).click()
  await page.goto('/')
  await button('Sign in')
  await button('Sam Sawyer')
  await button('Allow')
}

/** Presses a button of a customer, and gives a reason. */
export async function start(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('A teapot is missing from the last order')
  await page.getByLabel('Ticket').fill('T-1')
  await page.getByRole('button', { name: 'Start' }).click()
}

async function openView(page: Page): Promise<void> {
  await signIn(page)
  await start(page, 'View as Alice Archer')
  await page.getByRole('heading', { level: 1, name: 'Viewing as Alice Archer' }).waitFor()
}

/** Security stops it at the console, and the desk of the engineer says so. */
async function stopView(page: Page, { baseUrl }: Example): Promise<void> {
  const security = await stopAtConsole(page, baseUrl)
  await security.getByRole('button', { name: /^Stop/ }).click()
  await page.getByRole('alert').filter({ hasText: 'Dana Dorn stopped your view' }).waitFor()
  await security.context().close()
}

/** The page of the console that asks why, filled in, in a browser profile of its own. */
export async function stopAtConsole(page: Page, baseUrl: string): Promise<Page> {
  const looks = { viewport: page.viewportSize(), deviceScaleFactor: 1.5 }
  const profile = await page
    .context()
    .browser()
    ?.newContext({ baseURL: baseUrl, ...looks })
  if (!profile) throw new Error('the browser is gone')
  const security = await profile.newPage()
  await security.goto('/impersonations')
  await security.getByRole('button', { name: 'Dana Dorn' }).click()
  await security
    .getByRole('row')
    .filter({ hasText: 'Sam Sawyer' })
    .getByRole('link', { name: /^Stop/ })
    .click()
  await security.getByLabel(/reason/i).fill('The ticket is closed')
  return security
}
