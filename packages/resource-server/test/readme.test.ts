/** The program of the README, in the folder of a reader. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { blocksOf, readPage, untilServes } from '../../../fixtures/markdown.ts'
import { installPacked } from '../../../fixtures/packed-package.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
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
      writeFileSync(path.join(reader.path, 'api.mjs'), program)
      const server = spawn(process.execPath, ['api.mjs'], { cwd: reader.path, stdio: 'ignore' })
      try {
        const url = `http://127.0.0.1:${port}/`
        await untilServes(server, url)
        const { subjectToken } = await issue(deployment)
        const { body } = await exchange(deployment, {
          subject_token: subjectToken,
          scope: 'orders:read',
          ...withActor(await actorToken(deployment)),
        })
        const response = await fetch(url, { headers: { authorization: `Bearer ${body.access_token}` } })
        expect(await response.json()).to.deep.equal({ orders: 'alice', readBy: 'bob' })
        expect((await fetch(url)).status).to.equal(401)
      } finally {
        server.kill()
        if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
        reader.remove()
      }
    }))
})
