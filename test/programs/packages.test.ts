/** The packages as npm publishes them: one version, and each works with what it depends on and nothing else. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { ROOT, readPage } from '../../fixtures/markdown.ts'
import {
  installPacked,
  PACKAGES,
  REPOSITORY,
  type ReadersFolder,
  readManifest,
} from '../../fixtures/packed-package.ts'

const run = promisify(execFile)

describe('packages', () => {
  it('have the version and the license of the main package', () => {
    const { version } = readManifest('.')
    for (const folder of PACKAGES.values()) {
      expect(readManifest(folder).version, folder).to.equal(version)
      expect(readPage(`${folder}/LICENSE`), folder).to.equal(readPage('LICENSE'))
    }
  })

  it('name the repository in which they are, or npm publishes none: it compares that with who sends them', () => {
    for (const folder of PACKAGES.values()) {
      const { repository, homepage, bugs } = readManifest(folder)
      const { type, url } = readManifest('.').repository
      expect(repository, folder).to.deep.equal({ type, url, ...(folder !== '.' && { directory: folder }) })
      expect(url).to.equal(`git+${REPOSITORY}.git`)
      expect(bugs, folder).to.equal(`${REPOSITORY}/issues`)
      expect(homepage.split('#')[0], folder).to.match(new RegExp(`^${REPOSITORY}(/|$)`))
    }
  })

  it('are not published while the repository has no address', async () => {
    const text = readPage('.github/workflows/release.yml')
    const [, step = ''] = /address of the repository is known\n +run: "(.*)"\n/.exec(text) ?? []
    const isKnown = await run('bash', ['-ec', step], { cwd: ROOT }).then(
      () => true,
      ({ code, stderr }) => code !== 1 || stderr !== '',
    )
    expect(step).to.match(/^! grep -rn/)
    expect(isKnown).to.equal(!REPOSITORY.includes('/OWNER/'))
  })

  it('have their address filled in by the command of CONTRIBUTING, everywhere', async () => {
    const [command = ''] = /^git grep .*sed -i .*$/m.exec(readPage('.github/CONTRIBUTING.md')) ?? []
    const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-address-'))
    try {
      await run('git', ['clone', '--quiet', ROOT, folder])
      await run('bash', ['-ec', command], { cwd: folder })
      // Nothing found is an error of git.
      const { stdout: left } = await run('git', ['grep', 'github.com/[O]WNER/'], { cwd: folder }).catch(
        (nothing) => nothing,
      )
      expect(left).to.equal('')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  for (const [name, folder] of PACKAGES) {
    describe(name, () => {
      let reader: ReadersFolder
      before(async () => {
        reader = await installPacked([name, ...Object.keys(readManifest(folder).peerDependencies ?? {})])
      })
      after(() => reader?.remove())

      it('can be imported from the tarball, by each of its entries', async () => {
        const { exports, bin } = readManifest(folder)
        const entries = Object.entries(exports).flatMap(([entry, target]) =>
          typeof target === 'string' ? [] : [path.join(name, entry)],
        )
        expect(entries.length > 0 || bin !== undefined).to.equal(true)
        const program = `for (const entry of ${JSON.stringify(entries)}) {
          if (Object.keys(await import(entry)).length === 0) throw new Error(entry)
          console.log(entry)
        }`
        const args = ['--input-type=module', '--eval', program]
        const { stdout } = await run(process.execPath, args, { cwd: reader.path })
        expect(stdout.split('\n').slice(0, -1)).to.deep.equal(entries)
      })

      for (const [command, file] of Object.entries(readManifest(folder).bin ?? {})) {
        it(`has the command ${command}`, async () => {
          const args = [path.join('node_modules', name, file), '--help']
          const { stdout } = await run(process.execPath, args, { cwd: reader.path })
          expect(stdout).to.include(`Usage: ${command}`)
        })
      }
    })
  }
})
