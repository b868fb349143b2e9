/**
 * Runs tests twice in one process: Stryker does so for every mutant, and a test that fails the second time would seem to
 * kill whatever it reaches. Prints the titles of such tests: `node tools/mutation/repeatable.ts <titles> <file…>`.
 */
import path from 'node:path'
import Mocha from 'mocha'

const [titles = '', ...files] = process.argv.slice(2)
const [, pattern = '', flags] = /^\/(.*)\/(\w*)$/.exec(titles) ?? []

await import('../../test/setup.ts')
const mocha = new Mocha({ reporter: class {} as never, timeout: 60_000 })
mocha.cleanReferencesAfterRun(false)
mocha.grep(new RegExp(pattern, flags))
for (const file of files) mocha.addFile(path.resolve(file))
await mocha.loadFilesAsync()

const failing = () =>
  new Promise<string[]>((resolve) => {
    const failed: string[] = []
    mocha.run(() => resolve(failed)).on('fail', (test) => void failed.push(test.fullTitle()))
  })

for (const time of ['first', 'second'])
  for (const title of await failing()) console.log(`${time} time: ${title}`)
// Servers that tests have started.
process.exit()
