/** The routes of protocol.md §2.2 as HTTP: methods, paths, headers, and the scope that each needs. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { manage, show } from '../../fixtures/management.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'

const AN_ID = '0'.repeat(32)
const CREATE = 'subject-tokens:create'
const READ = 'subject-tokens:read'
const REVOKE = 'subject-tokens:revoke'

describe('management: listing and revoking, as HTTP', () => {
  onSqlite({}, (on) => {
    const rawGet = async (path: string, host: string | null = 'localhost') =>
      rawRequest(on.deployment.baseUrl, [
        `GET ${path} HTTP/1.${host === null ? '0' : '1'}`,
        ...(host === null ? [] : [`Host: ${host}`]),
        `Authorization: Bearer ${await managementToken(on.deployment)}`,
      ])

    const routes: [title: string, method: string, path: string, scope: string][] = [
      ['the list', 'GET', '', READ],
      ['one item', 'GET', `/${AN_ID}`, READ],
      ['the head of the list', 'HEAD', '', READ],
      ['the head of one item', 'HEAD', `/${AN_ID}`, READ],
      ['the kill switch', 'DELETE', '?userId=alice', REVOKE],
      ['the revocation of one', 'DELETE', `/${AN_ID}`, REVOKE],
    ]
    for (const [title, method, path, needed] of routes) {
      it(`allows ${title} with ${needed} only`, async () => {
        const wrong = [CREATE, READ, REVOKE].filter((scope) => scope !== needed)
        for (const scope of [...wrong, wrong.join(' ')]) {
          const response = await manage(on.deployment, method, path, { scope })
          expect(response.status, `${scope} ${response.text}`).to.equal(403)
          expect(response.headers.get('www-authenticate')).to.equal(
            `Bearer realm="${on.deployment.issuer}", error="insufficient_scope", ` +
              `error_description="the access token lacks the scope ${needed}", scope="${needed}"`,
          )
          if (method !== 'HEAD') expect(response.body.error).to.equal('insufficient_scope')
        }
        const allowed = await manage(on.deployment, method, path, { scope: needed })
        expect(allowed.status, allowed.text).to.be.oneOf([200, 404])
      })

      it(`allows ${title} to no one without a token of a machine`, async () => {
        const { subjectToken } = await issue(on.deployment, { userId: 'erin' })
        const { body } = await exchange(on.deployment, { subject_token: subjectToken })
        const { subjectToken: unused } = await issue(on.deployment, { userId: 'erin' })
        for (const token of [null, 'x', unused, body.access_token, await actorToken(on.deployment)]) {
          const response = await manage(on.deployment, method, path, { token })
          expect(response.status, response.text).to.equal(401)
          expect(response.headers.get('cache-control')).to.equal('no-store')
          const bare = `Bearer realm="${on.deployment.issuer}"`
          const challenge = response.headers.get('www-authenticate')
          if (token === null) expect(challenge).to.equal(bare)
          else expect(challenge).to.match(/^Bearer realm="[^"]+", error="invalid_token", /)
        }
      })
    }

    it('revokes nothing for a token without the scope', async () => {
      const { id } = await issue(on.deployment)
      for (const path of [`/${id}`, '?userId=alice']) {
        const response = await manage(on.deployment, 'DELETE', path, { scope: `${CREATE} ${READ}` })
        expect(response.status).to.equal(403)
      }
      expect((await show(on.deployment, id)).body.state).to.equal('active')
    })

    it('tells a caller without the scope nothing about what exists, and nothing about its request', async () => {
      const { id } = await issue(on.deployment)
      const paths = [`/${id}`, `/${AN_ID}`, '/x', `/${id}?unknown=1`]
      const responses = []
      for (const path of paths) responses.push(await manage(on.deployment, 'GET', path, { scope: CREATE }))
      expect(new Set(responses.map(({ text }) => text)).size).to.equal(1)
    })

    for (const [path, allow] of [
      ['', 'GET, HEAD, POST, DELETE'],
      [`/${AN_ID}`, 'GET, HEAD, DELETE'],
    ] as const) {
      for (const method of ['PUT', 'PATCH', 'OPTIONS', ...(path === '' ? [] : ['POST'])]) {
        it(`responds to ${method} ${path || 'of the collection'} with 405 and the allowed methods, with and without a token`, async () => {
          for (const token of [undefined, null]) {
            const response = await manage(on.deployment, method, path, { token })
            expect([response.status, response.body], response.text).to.deep.equal([
              405,
              { error: 'invalid_request', error_description: 'method not allowed' },
            ])
            expect(response.headers.get('allow')).to.equal(allow)
            expect(response.headers.get('cache-control')).to.equal('no-store')
          }
        })
      }
    }

    it('responds to HEAD like GET, without a body', async () => {
      const { id } = await issue(on.deployment)
      for (const path of ['', `/${id}`]) {
        const [head, get] = [
          await manage(on.deployment, 'HEAD', path),
          await manage(on.deployment, 'GET', path),
        ]
        expect([head.status, head.text]).to.deep.equal([200, ''])
        for (const name of ['content-type', 'content-length', 'cache-control']) {
          expect(head.headers.get(name), name).to.equal(get.headers.get(name)).and.not.equal(null)
        }
      }
    })

    it('keeps every response out of caches', async () => {
      const { id } = await issue(on.deployment)
      for (const [method, path, status] of [
        ['GET', '', 200],
        ['GET', `/${id}`, 200],
        ['GET', `/${AN_ID}`, 404],
        ['GET', '?unknown=1', 400],
        ['DELETE', `/${id}`, 204],
        ['DELETE', '?userId=alice', 200],
        ['DELETE', '', 400],
      ] as const) {
        const response = await manage(on.deployment, method, path)
        expect([response.status, response.headers.get('cache-control')]).to.deep.equal([status, 'no-store'])
      }
    })

    const ids = [
      AN_ID,
      'x',
      AN_ID.slice(1),
      `${AN_ID}0`,
      'F'.repeat(32),
      `sub_${'A'.repeat(43)}`,
      '%00',
      '%0A',
      '%2F',
      '..%2F..',
      "'%20OR%201=1",
      '%F0%9F%8E%AB',
      '%E0%A4%A',
      '%',
      '%ZZ',
      '%C3%28',
      'a'.repeat(4000),
    ]
    for (const id of ids) {
      it(`finds nothing under ${id.slice(0, 50)}, to read or to revoke`, async () => {
        for (const method of ['GET', 'DELETE']) {
          const response = await manage(on.deployment, method, `/${id}`)
          expect([response.status, response.body], response.text).to.deep.equal([
            404,
            { error: 'not_found', error_description: 'subject token not found' },
          ])
          expect(response.headers.get('www-authenticate')).to.equal(null)
        }
      })
    }

    it('does not find a token by its own value or its hash', async () => {
      const { subjectToken } = await issue(on.deployment)
      const hash = createHash('sha256').update(subjectToken).digest()
      for (const value of [subjectToken, hash.toString('base64url'), hash.toString('hex')]) {
        expect((await show(on.deployment, value)).status).to.equal(404)
      }
    })

    it('refuses a query where none is allowed', async () => {
      const { id } = await issue(on.deployment)
      for (const method of ['GET', 'DELETE']) {
        const response = await manage(on.deployment, method, `/${id}?dryRun=true`)
        expect([response.status, response.body]).to.deep.equal([
          400,
          { error: 'invalid_request', error_description: 'unknown parameter: dryRun' },
        ])
      }
      expect((await show(on.deployment, id)).body.state).to.equal('active')
    })

    for (const host of [
      'evil.example.com',
      '',
      '[',
      'a b',
      '"><script>',
      '127.0.0.1:99999',
      'evil\u00ff',
      null,
    ]) {
      it(`ignores the Host ${JSON.stringify(host)}`, async () => {
        const { id } = await issue(on.deployment)
        for (const path of [
          `/api/subject-tokens/${id}`,
          '/api/subject-tokens',
          '/api/subject-tokens?x=%ZZ',
        ]) {
          const response = await rawGet(path, host)
          expect(response).to.match(/^HTTP\/1\.1 (200|400) /)
          expect(response).not.to.match(/evil|script>/)
        }
        expect(on.deployment.errors).to.deep.equal([])
      })
    }

    for (const path of [
      '/api/subject-tokens/%',
      '/api/subject-tokens/%E0%A4%A',
      '/api/subject-tokens/\u00ff',
      '/api/subject-tokens?userId=\u00ff',
      '/api/subject-tokens?%',
      'http://evil.example.com/api/subject-tokens?%',
      '/api/subject-tokens/..',
      '/api/%',
      '//api/subject-tokens',
    ]) {
      it(`does not fail on the path ${JSON.stringify(path)}`, async () => {
        expect(await rawGet(path)).to.match(/^HTTP\/1\.1 [24]\d\d /)
        expect(on.deployment.errors).to.deep.equal([])
      })
    }
  })
})
