/**
 * Takes the pictures of docs/images: `npm run screenshots` all of them, `npm run screenshots -- console` those of the
 * console. Needs Debian's `chromium` and `pngquant`: pictures of pages have few colours, so a palette saves half of the bytes.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { launchChromium } from '../fixtures/chromium.ts'
import { openConsole, type Scenery } from './screenshots/console.ts'
import { openDesk, openShop } from './screenshots/example.ts'

const IMAGES = path.resolve(import.meta.dirname, '../docs/images')
const SIZE = { width: 1000, height: 640 }

const SCENES: Readonly<Record<string, () => Promise<Scenery>>> = {
  console: openConsole,
  desk: openDesk,
  shop: openShop,
}

async function photograph(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const file = path.join(IMAGES, `${name}-${colorScheme}.png`)
    writeFileSync(file, execFileSync('pngquant', ['-'], { input: await page.screenshot() }))
    console.log(path.relative(process.cwd(), file))
  }
}

const names = process.argv.slice(2)
for (const name of names) {
  if (!Object.hasOwn(SCENES, name)) throw new Error(`no pictures of ${name}: only of ${Object.keys(SCENES)}`)
}
mkdirSync(IMAGES, { recursive: true })
const browser = await launchChromium()
try {
  for (const [scene, open] of Object.entries(SCENES)) {
    if (names.length > 0 && !names.includes(scene)) continue
    const { baseUrl, views, close } = await open()
    try {
      const page = await browser.newPage({ baseURL: baseUrl, viewport: SIZE, deviceScaleFactor: 1.5 })
      for (const [name, show] of Object.entries(views)) {
        await photograph((await show(page)) ?? page, name)
      }
    } finally {
      await close()
    }
  }
} finally {
  await browser.close()
}
