/** The program of the README, in the folder of a reader. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { blocksOf, readPage } from '../../../fixtures/markdown.ts'
import { installPacked } from '../../../fixtures/packed-package.ts'

const [, { code } = { code: '' }] = blocksOf(readPage('packages/client/README.md'))

describe('client: README', () => {
  it('has a program that issues, lists and stops', () =>
    withDeployment({}, async ({ issuer }) => {
      const reader = await installPacked(['oidc-provider-impersonation-client'])
      try {
        const program = code.replace('https://id.example.com/oidc', issuer)
        writeFileSync(path.join(reader.path, 'backend.mjs'), program)
        const { stdout } = await promisify(execFile)(process.execPath, ['backend.mjs'], {
          cwd: reader.path,
          env: { ...process.env, BACKEND_SECRET: 'backend-secret' },
        })
        expect(stdout).to.match(/^\d+ characters, for 600 s\nsam active\n\{ revoked: 1 \}\n$/)
      } finally {
        reader.remove()
      }
    }))
})
