/** Starts the example and Firefox, by WebDriver BiDi, and walks from the desk into the shop and out of it. */
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { launch } from 'puppeteer-core'
import { startProgram } from '../../test/pages/program.ts'
import { walkShop } from './shop.js'

/** The one that `FIREFOX` names, else Debian's. */
function findFirefox() {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(path.delimiter)]
  const installed = ['firefox-esr', 'firefox'].flatMap((name) =>
    folders.map((folder) => path.join(folder, name)),
  )
  return (process.env.FIREFOX ? [process.env.FIREFOX] : installed).find(isExecutable)
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

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

const executablePath = findFirefox()
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
