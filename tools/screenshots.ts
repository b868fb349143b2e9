/** Takes the pictures of docs/images from the running example: `npm run screenshots`. Needs Chromium. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { startExample } from '../example/deployment.ts'
import { launchChromium } from '../fixtures/chromium.ts'

const IMAGES = path.resolve(import.meta.dirname, '../docs/images')
const SIZE = { width: 1000, height: 640 }

/** Signs in as an engineer, and opens a customer's account with a reason. */
async function openView(page: Page): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name }).click()
  await page.goto('/')
  await button('Sign in')
  await button('Sam Sawyer')
  await button('Allow')
  await button('View as Alice Archer')
  await page.getByRole('textbox', { name: 'Reason' }).fill('A teapot is missing from the last order')
  await page.getByLabel('Ticket').fill('T-1')
  await button('Start')
  await page.getByRole('heading', { level: 1, name: 'Viewing as Alice Archer' }).waitFor()
}

const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-screenshots-'))
const example = await startExample({ port: 0, storage: path.join(folder, 'desk.sqlite'), log: () => {} })
const browser = await launchChromium()
try {
  mkdirSync(IMAGES, { recursive: true })
  const page = await browser.newPage({ baseURL: example.baseUrl, viewport: SIZE, deviceScaleFactor: 1.5 })
  await openView(page)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const file = path.join(IMAGES, `desk-${colorScheme}.png`)
    await page.screenshot({ path: file })
    console.log(path.relative(process.cwd(), file))
  }
} finally {
  await browser.close()
  await example.close()
  rmSync(folder, { recursive: true })
}
