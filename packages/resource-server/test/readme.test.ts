/** The program of the README, in the folder of a reader. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { blocksOf, readPage, whileRunning } from '../../../fixtures/markdown.ts'
import { viewed } from '../../../fixtures/on-behalf-of.ts'
import { installPacked } from '../../../fixtures/packed-package.ts'
import { freePort } from '../../../fixtures/server-process.ts'

const [, { code } = { code: '' }] = blocksOf(readPage('packages/resource-server/README.md'))

describe('resource server: README', () => {
  it('has a program that tells the user from the engineer, and refuses a request without token', () =>
    withDeployment({}, async (deployment) => {
      const port = await freePort()
      const program = code
        .replace('https://id.example.com/oidc', deployment.issuer)
        .replace('.listen(4000)', `.listen(${port}, '127.0.0.1')`)
      const reader = await installPacked(['oidc-provider-impersonation-resource-server'])
      const file = path.join(reader.path, 'api.mjs')
      writeFileSync(file, program)
      const url = `http://127.0.0.1:${port}/`
      await whileRunning(file, url, async () => {
        const { accessToken } = await viewed(deployment, { scope: 'orders:read' })
        const response = await fetch(url, { headers: { authorization: `Bearer ${accessToken}` } })
        expect(await response.json()).to.deep.equal({ orders: 'alice', readBy: 'bob' })
        expect((await fetch(url)).status).to.equal(401)
      }).finally(reader.remove)
    }))
})
