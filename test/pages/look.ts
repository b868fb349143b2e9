/** That axe-core finds nothing, and nothing overflows: light and dark, on a desktop and on a phone. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { allowMoreTime } from '../../fixtures/limits.ts'

/** For people to look at after a run. Git ignores it. */
const SCREENSHOTS = path.resolve(import.meta.dirname, 'screenshots')
mkdirSync(SCREENSHOTS, { recursive: true })

/** Pixels of the page that are not in view, by its width. */
export const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

export async function look(page: Page, state: string): Promise<void> {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    expect(await page.evaluate(OVERFLOW), `${state} at ${width} px`).to.equal(0)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      const name = `${state}-${width}-${colorScheme}`
      expect(await violations(page), name).to.deep.equal([])
      await page.evaluate('scrollTo(0, 0)')
      await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true })
    }
  }
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe-core finds. It waits for time to pass. */
export async function violations(page: Page): Promise<string[]> {
  allowMoreTime()
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(`${axe.source}; undefined`)
  const found = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)')
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}
