/** The packages as npm publishes them: one version, and each works with what it depends on and nothing else. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { readPage } from '../../fixtures/markdown.ts'
import { PACKAGES, readManifest, useInstalled } from '../../fixtures/packed-package.ts'
import { copyRepository } from '../../tools/copy.ts'

const run = promisify(execFile)

describe('packages', () => {
  it('have the version and the license of the main package', () => {
    const { version } = readManifest('.')
    for (const folder of PACKAGES.values()) {
      expect(readManifest(folder).version, folder).to.equal(version)
      expect(readPage(`${folder}/LICENSE`), folder).to.equal(readPage('LICENSE'))
    }
  })

  it('name the repository that publishes them, and link to the files of their tag', async () => {
    const folder = copyRepository('release')
    try {
      const [, step = ''] =
        /what is packed\n +run: (.*)\n/.exec(readPage('.github/workflows/release.yml')) ?? []
      const { version } = readManifest('.')
      const origin = {
        GITHUB_SERVER_URL: 'https://github.com',
        GITHUB_REPOSITORY: 'you/some-repository',
        GITHUB_REF_NAME: `v${version}`,
      }
      await run('bash', ['-ec', step], { cwd: folder, env: { ...process.env, ...origin } })
      const address = 'https://github.com/you/some-repository'
      for (const place of PACKAGES.values()) {
        const manifest = JSON.parse(readFileSync(path.join(folder, place, 'package.json'), 'utf8'))
        const directory = place === '.' ? {} : { directory: place }
        expect(manifest.repository).to.deep.equal({ type: 'git', url: `git+${address}.git`, ...directory })
      }
      for (const page of globSync(['{README,SECURITY,CHANGELOG}.md', 'packages/*/README.md'], {
        cwd: folder,
      })) {
        const text = readFileSync(path.join(folder, page), 'utf8').replace(/^```.*?^```$/gms, '')
        for (const [, link = ''] of text.matchAll(/(?:\]\(|(?:href|src|srcset)=")([^)"\s]+)/g)) {
          const [, file] = new RegExp(`^${address}/(?:blob|tree|raw)/v${version}/([^#]+)`).exec(link) ?? []
          if (file) expect(existsSync(path.join(folder, file)), link).to.equal(true)
          else expect(link).to.match(/^(#|https?:)/)
          expect(link).not.to.include('/main/')
        }
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  for (const [name, folder] of PACKAGES) {
    describe(name, () => {
      const { exports, bin = {}, peerDependencies = {} } = readManifest(folder)
      const reader = useInstalled([name, ...Object.keys(peerDependencies)])

      it('can be imported from the tarball, by each of its entries', async () => {
        const entries = Object.entries(exports).flatMap(([entry, target]) =>
          typeof target === 'string' ? [] : [path.join(name, entry)],
        )
        expect([...entries, ...Object.keys(bin)]).not.to.be.empty
        const program = `for (const entry of ${JSON.stringify(entries)}) {
          if (Object.keys(await import(entry)).length === 0) throw new Error(entry)
          console.log(entry)
        }`
        const args = ['--input-type=module', '--eval', program]
        const { stdout } = await run(process.execPath, args, { cwd: reader.path })
        expect(stdout.split('\n').slice(0, -1)).to.deep.equal(entries)
      })

      for (const [command, file] of Object.entries(bin)) {
        it(`has the command ${command}`, async () => {
          const args = [path.join('node_modules', name, file), '--help']
          const { stdout } = await run(process.execPath, args, { cwd: reader.path })
          expect(stdout).to.include(`Usage: ${command}`)
        })
      }
    })
  }
})
