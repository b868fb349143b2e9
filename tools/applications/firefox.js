/** Starts the example and Firefox, by WebDriver BiDi, and walks from the desk into the shop and out of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { launch } from 'puppeteer-core'
import { findProgram } from '../../fixtures/programs.ts'
import { startProgram } from '../../test/pages/program.ts'
import { walkShop } from './shop.js'

async function walk(executablePath) {
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-firefox-'))
  const example = await startProgram(folder, () => {})
  try {
    const browser = await launch({ browser: 'firefox', protocol: 'webDriverBiDi', executablePath })
    try {
      console.log(await browser.version())
      await walkShop(browser, example, (done) => console.log(`as promised: ${done}`))
    } finally {
      await browser.close()
    }
  } finally {
    await example.close()
    rmSync(folder, { recursive: true })
  }
}

const executablePath = findProgram(...[process.env.FIREFOX || [], 'firefox-esr', 'firefox'].flat())
if (!executablePath) {
  console.error('There is no Firefox: `apt-get install firefox-esr`, or set FIREFOX to the path of one.')
  process.exit(1)
}
try {
  await walk(executablePath)
} catch (error) {
  console.error('not as promised:', error)
  process.exitCode = 1
}
