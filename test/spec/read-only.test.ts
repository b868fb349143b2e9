/** Read only (docs/protocol.md §11): who says so, what carries it, and where it is obeyed. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ResourceServer } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API, type RecordedEvent } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { BILLING, downstream, viewed } from '../../fixtures/on-behalf-of.ts'
import { introspect, issue } from '../../fixtures/requests.ts'
import { until } from '../../fixtures/until.ts'
import { impersonationOf } from '../../src/index.ts'
import { armed, arrived, cell, rule, shop, shown, unspent } from './arriving.ts'
import { forged } from './downstream.ts'
import { everyDoor, everyResponse, own, passed, ready, received, send } from './exchanging.ts'
import {
  invalidRequest,
  nothingToGrant,
  recordSays,
  refused,
  refusedToken,
  serverError,
  spent,
  succeeds,
  tokenSays,
  wrongInput,
} from './expectations.ts'
import { contextHears, listens, policyHears } from './functions.ts'
import { functions, issuedWith, on } from './given.ts'
import { isIssued, issues, manages } from './managing.ts'
import { declareCells } from './matrix.ts'
import { type Named, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'
import type { SettingName } from './settings.ts'

/** Of the issuance. */
type Members = { readonly readOnly?: true }
type Declared = Pick<ResourceServer, 'readOnly' | 'writeScopes'>

const { resources = {} } = downstream()

/** The resource that is asked for says this of itself, and every other one that it obeys. */
const declare =
  (declared: Declared): Step =>
  (scene) => {
    const target = scene.door === 'a subject token' ? API : BILLING
    functions({
      resourceServer: (resource) => ({
        ...(resources[resource] ?? expect.fail(resource)),
        ...(resource === target ? declared : READ_ONLY),
      }),
    })(scene)
  }
const READ_ONLY = { readOnly: true } as const
/** Every resource obeys, and the subject token is read-only. */
const readOnly: Steps = [declare(READ_ONLY), issuedWith(READ_ONLY)]
/** What an API has received may write. */
const mayWrite: Step = (scene) => void Object.assign(scene, { scope: 'openid orders:read orders:write' })

const NOT_OBEYED = refused(
  400,
  'invalid_target',
  'the impersonation is read-only, and the resource does not say that it obeys this',
)

const UNDECLARED: Named<Declared> = {
  neither: {},
  'readOnly: false': { readOnly: false },
  'an empty list': { writeScopes: [] },
}

const MALFORMED: Named<object> = {
  'readOnly as a string': { readOnly: 'true' },
  'readOnly as null': { readOnly: null },
  'writeScopes as a string': { writeScopes: 'orders:write' },
  'writeScopes as null': { writeScopes: null },
  'a scope that it has not': { writeScopes: ['orders:write', 'orders:delete'] },
  'no name': { writeScopes: [7] },
  'an empty name': { scope: '', writeScopes: [''] },
  'holes in place of names': { writeScopes: new Array(1) },
}

/** What is issued, and whether the record then says that it is read-only. */
const ISSUED: Named<readonly [asked: boolean | undefined, on: SettingName, says: true | undefined]> = {
  true: [true, 'usual', true],
  false: [false, 'usual', undefined],
  absent: [undefined, 'usual', undefined],
  'true, and the option is on': [true, 'read-only by default', true],
  'false, and the option is on': [false, 'read-only by default', undefined],
  'absent, and the option is on': [undefined, 'read-only by default', true],
}

/** Values of the claim, as a token that was issued elsewhere may have them. */
const COUNT_AS_TRUE: Named<unknown> = { true: true, yes: 'yes', null: null, zero: 0, 'an empty text': '' }
/** Bob, by an access token of his that says this. */
const actorSaying =
  (value: unknown) =>
  async ({ setting }: Scene): Promise<Parameters> =>
    withActor(await actorJwt(setting, { read_only: value }))
/** Carol, as whom bob acts, by an access token that came of a read-only record. */
const actorOfReadOnly =
  (resource: string) =>
  async ({ setting }: Scene): Promise<Parameters> => {
    const carol = { userId: 'carol', readOnly: true }
    const { accessToken } = await viewed(setting, { resource, scope: 'openid' }, carol)
    return withActor(accessToken)
  }
const badActor = invalidRequest('actor_token is invalid', 'read-only, and the subject token is not')
const ACTORS: Named<(scene: Scene) => Promise<Parameters>> = {
  ...Object.fromEntries(Object.entries(COUNT_AS_TRUE).map(([name, value]) => [name, actorSaying(value)])),
  'a JWT of a read-only record': actorOfReadOnly(API),
  'an opaque token of a read-only record': actorOfReadOnly(OPAQUE_API),
}

/** What events say of it, each by its name. */
const toldBy = (events: readonly RecordedEvent[]) =>
  events.map(({ name, payload }) => [name, Reflect.get(payload, 'readOnly')])
/** The one event since the request. */
const tells =
  (name: string, value: true | undefined): Step =>
  ({ events }) =>
    expect(toldBy(events)).to.deep.equal([[name, value]])
const exchangedEvent = ({ door }: Scene) =>
  door === 'a subject token' ? 'subject_token.exchanged' : 'access_token.exchanged'

/** What everyone is told of an exchange. */
const exchangeTells =
  (value: true | undefined) =>
  (changes: Parameters): Steps => [
    declare(READ_ONLY),
    issuedWith({ readOnly: value }),
    ready,
    listens,
    send(changes),
    policyHears({ readOnly: value }),
    contextHears({
      grant: (grant: object) => (value ? Reflect.get(grant, 'readOnly') === true : !('readOnly' in grant)),
    }),
    (scene) => tells(exchangedEvent(scene), value)(scene),
    tokenSays({ read_only: value }),
    spent,
  ]

/** What everyone is told of a session, from the door to its end, of which the application hears at the second attempt. */
function sessionTells(members: Members): Steps {
  const value = members.readOnly
  const asked: unknown[] = []
  const seen: unknown[] = []
  return arrived(
    async (scene) => {
      const { application, arrival, id, impersonation, provider, redeem, userinfo } = scene
      // At the page, at the button, and when the application arrives.
      expect(asked).to.deep.equal([value, value, value, { claims: value }])
      provider.on('grant.success', (ctx: object) => void seen.push(impersonationOf(ctx)))
      const { status, body, text } = await redeem(arrival)
      expect(status, text).to.equal(200)
      const impersonated = { id, userId: 'alice', actor: { sub: 'bob' }, clientId: 'shop', ...members }
      expect(seen).to.deep.equal([impersonated])
      expect(decodeJwt(body.id_token).read_only).to.equal(value === true)
      expect((await userinfo(body.access_token)).body.read_only).to.equal(value === true)
      expect((await introspect(scene, body.access_token)).read_only).to.equal(value)
      expect((await scene.record(id))?.use).to.include({ clientId: 'shop' })
      application.answers.push(500)
      await impersonation.records.stop({ id })
      await until(() => scene.eventsOf('session.ended').length > 0)
      expect(toldBy(scene.events)).to.deep.equal([
        ['subject_token.exchanged', value],
        ['subject_token.revoked', undefined],
        ['session.logout_failed', value],
        ['session.ended', value],
      ])
    },
    {
      options: {
        isAllowed: ({ readOnly }) => asked.push(readOnly) > 0,
        getCustomJwtClaims({ context }) {
          asked.push({ claims: context.grant.readOnly })
          return {}
        },
      },
    },
    members,
  )
}

/** One goes on in another one of the same user. */
const goesOn = (ended: Members, other: Members): Steps => [
  issuedWith(ended),
  isIssued,
  async (scene) => {
    const { id: continuedBy } = await issue(scene.setting, { userId: scene.people.userId, ...other })
    const body = { id: scene.id, cause: 'continued', continuedBy }
    await manages(scene, { method: 'POST', path: '/revocations', body })
  },
]
const hasGoneOn: Steps = [succeeds({ revoked: 1 }), recordSays({ state: 'revoked' })]

const guarded = shop({ impersonation_read_only: true })

declareCells('R', [
  values('R1 R11 M193 M195 P33', ISSUED, ([asked, setting, says]) => [
    on(setting),
    listens,
    issues({ readOnly: asked }),
    policyHears({ readOnly: says }),
    tells('subject_token.issued', says),
    succeeds({}, 201),
    recordSays({ readOnly: says }),
  ]),
  values('M193, of another type', { text: 'true', number: 1, null: null, list: [true] }, (value) => [
    issues({ readOnly: value }),
    wrongInput('readOnly must be true or false'),
  ]),
  everyResponse('R2 R11 T16 P26 P33', exchangeTells(true)),
  everyResponse('R2 R11 T16 P26 P33, not read-only', exchangeTells(undefined)),
  rule('R2 R3 R11 A30 P26 P33', sessionTells(READ_ONLY)),
  rule('R2 R3 R11 A30 P26 P33, not read-only', sessionTells({})),
  values('R4, and the record is not', ACTORS, (actor) => [declare(READ_ONLY), ready, send(actor), badActor]),
  values('R4, and the record is, too', ACTORS, (actor) => [
    readOnly,
    ready,
    send(actor),
    tokenSays({ read_only: true }),
    spent,
  ]),
  values('R4, not read-only', { absent: undefined, false: false }, (value) => [
    ready,
    send(actorSaying(value)),
    tokenSays({ read_only: undefined }),
    spent,
  ]),
  passed('R5', {
    ...received([readOnly, forged({ read_only: false }), send(), tokenSays({ read_only: true }), spent]),
    ...own([forged({ read_only: 'yes' }), send(), refusedToken('read-only, and it has no status')]),
  }),
  passed('R5, not read-only', {
    ...received([forged({ read_only: true }), send(), tokenSays({ read_only: undefined }), spent]),
    ...own([forged({ read_only: false }), send(), tokenSays({ read_only: undefined }), spent]),
  }),
  values<readonly [ended: Members, other: Members, outcome: Steps]>(
    'R6',
    {
      'read-only, in one that is not': [
        READ_ONLY,
        {},
        wrongInput('continuedBy must be the id of a read-only record'),
      ],
      'read-only, in another': [READ_ONLY, READ_ONLY, hasGoneOn],
      'not read-only, in one that is': [{}, READ_ONLY, hasGoneOn],
    },
    ([ended, other, outcome]) => [goesOn(ended, other), outcome],
  ),
  ...Object.entries(UNDECLARED).map(([name, declared]) =>
    everyDoor(`R7, ${name}`, [declare(declared), issuedWith(READ_ONLY), send(), NOT_OBEYED]),
  ),
  everyDoor('R7, and a record that is not read-only', [declare({}), send(), succeeds(), spent]),
  everyDoor('R7 R8, by its scopes', [
    declare({ writeScopes: ['orders:write'] }),
    issuedWith(READ_ONLY),
    mayWrite,
    send({ scope: 'orders:read orders:write' }),
    tokenSays({ scope: 'orders:read', read_only: true }),
    spent,
  ]),
  everyDoor('R8, and none left', [
    declare({ readOnly: true, writeScopes: ['orders:write'] }),
    issuedWith(READ_ONLY),
    mayWrite,
    send({ scope: 'orders:write' }),
    nothingToGrant,
  ]),
  rule(
    'R8, at the arrival',
    armed(
      async ({ authorize, browser, redeem, provider, id, use }) => {
        const requested = { resource: API, scope: 'openid orders:read orders:write' }
        const { body } = await redeem(await authorize(browser, requested), { resource: API })
        expect(body.scope).to.equal('openid orders:read')
        const grant = await provider.Grant.find(`imp_${id}`)
        expect(grant?.getRejectedResourceScope(API)).to.equal('orders:write')
        expect((await use())?.scope).to.equal('openid orders:read')
      },
      {
        clients: [guarded],
        resources: { [API]: { ...(resources[API] ?? expect.fail()), writeScopes: ['orders:write'] } },
      },
      READ_ONLY,
    ),
  ),
  values<readonly [error: string, server: Declared, client: object]>(
    'R7 R8 R10, withdrawn before the code is redeemed',
    {
      'by the resource': ['invalid_target', { readOnly: false }, {}],
      'by its scopes': ['invalid_grant', { writeScopes: ['orders:read'] }, {}],
      'by the application': ['invalid_grant', {}, { impersonation_read_only: false }],
    },
    ([error, ofServer, ofClient]) => {
      const server = { ...(resources[API] ?? expect.fail()), ...READ_ONLY }
      return armed(
        async ({ authorize, browser, redeem, provider, use }) => {
          const arrival = await authorize(browser, { resource: API, scope: 'openid orders:read' })
          Object.assign(server, ofServer)
          Object.assign((await provider.Client.find('shop')) ?? {}, ofClient)
          const { status, body } = await redeem(arrival, { resource: API })
          expect([status, body.error]).to.deep.equal([400, error])
          expect(await use()).to.include({ clientId: 'shop' })
        },
        { clients: [guarded], resources: { [API]: server } },
        READ_ONLY,
      )
    },
  ),
  values('R9', MALFORMED, (declared) => [
    ready,
    declare(declared),
    send(),
    serverError(
      'getResourceServerInfo gave a readOnly that is no boolean, or writeScopes that its scope does not name',
    ),
  ]),
  values(
    'R10, at issuance',
    { asked: [false, READ_ONLY], 'by the option': [true, {}] } as const,
    ([isDefault, members]) =>
      cell(
        async ({ impersonation: { records } }) => {
          const request = { userId: 'alice', actorId: 'bob', use: 'session', createdBy: 'test' } as const
          const issueFor = (clientId: string) => records.issue({ ...request, ...members, clientId })
          for (const clientId of ['silent', 'careless']) {
            const error = await issueFor(clientId).catch((thrown: unknown) => thrown)
            expect(error).to.include({ status: 400, code: 'invalid_request', field: 'readOnly' })
          }
          expect((await records.list()).items).to.deep.equal([])
          await issueFor('shop')
          const { items } = await records.list({ readOnly: true })
          expect(items.map(({ use }) => use)).to.deep.equal(['session'])
        },
        {
          clients: [
            guarded,
            shop({ client_id: 'silent' }),
            shop({ client_id: 'careless', impersonation_read_only: false }),
          ],
          options: { readOnly: isDefault },
        },
      ),
  ),
  rule(
    'R10, at the door',
    unspent(
      async (scene) => {
        const page = await shown(scene, await scene.signedIn(), scene.token)
        expect(page.status).to.equal(403)
        expect(scene.refusals()).to.deep.equal(['read-only, which the client does not obey'])
      },
      { clients: [shop()] },
      READ_ONLY,
    ),
  ),
  values(
    'R12, at the door',
    {
      'read-only': [READ_ONLY, '<dd>Read only</dd>'],
      'not read-only': [{}, '<dd><b class="changes">Can change things</b></dd>'],
    } as const,
    ([members, said]) =>
      unspent(
        async (scene) => {
          const { status, text } = await shown(scene, await scene.signedIn(), scene.token)
          expect(status, text).to.equal(200)
          expect(text.match(/Can change things|Read only/g)).to.have.length(1)
          expect(text).to.include(`<dt>Access</dt>${said}`)
        },
        { clients: [guarded] },
        members,
      ),
  ),
])
