/** Read only (docs/protocol.md §11): who says so, what carries it, and where it is obeyed. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ClientMetadata, ResourceServer } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { BILLING, downstream } from '../../fixtures/on-behalf-of.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { startApplication } from '../../fixtures/sessions.ts'
import { impersonationOf } from '../../src/index.ts'
import {
  armed,
  type Given,
  inScene,
  rule,
  type Scene as SessionScene,
  shop,
  shown,
  unspent,
} from './arriving.ts'
import { forged } from './downstream.ts'
import {
  at,
  DOORS,
  doors,
  everyDoor,
  everyResponse,
  isJwt,
  own,
  passed,
  ready,
  received,
  send,
} from './exchanging.ts'
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
import { functions, issuedWith, on, rewrite } from './given.ts'
import { isIssued, issues, manages } from './managing.ts'
import { declareCells } from './matrix.ts'
import { answer, each, type Named, record, rowsOf, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'

type Declared = Pick<ResourceServer, 'readOnly' | 'writeScopes'>

const { resources = {} } = downstream()

/** What the resources of the deployment say of themselves: all, or those that are named. */
const declare = (declared: Declared, ...named: readonly string[]): Step =>
  functions({
    resourceServer: (resource) => ({
      ...(resources[resource] ?? expect.fail(resource)),
      ...((named.length === 0 || named.includes(resource)) && declared),
    }),
  })
/** Every resource obeys, and the subject token is read-only. */
const readOnly: Steps = [declare({ readOnly: true }), issuedWith({ readOnly: true })]
/** Those where a received token came from obey, whatever its next resource does. */
const RECEIVED_FROM = [API, OPAQUE_API]

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
/** Of the resource that is asked for. */
const target = ({ door }: Scene) => (door === 'a subject token' ? API : BILLING)
const declareTarget =
  (declared: Declared): Step =>
  (scene) => {
    const parents = scene.door === 'a subject token' ? [] : RECEIVED_FROM
    functions({
      resourceServer: (resource) => ({
        ...(resources[resource] ?? expect.fail(resource)),
        ...(parents.includes(resource) ? { readOnly: true } : resource === target(scene) && declared),
      }),
    })(scene)
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

const issued = succeeds({}, 201)
const says = (value: true | undefined): Steps => [issued, recordSays({ readOnly: value })]

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
    const { subjectToken } = await issue(setting, { userId: 'carol', readOnly: true })
    const bob = withActor(await actorToken(setting))
    const parameters = { subject_token: subjectToken, resource, scope: 'openid', ...bob }
    const { status, body, text } = await exchange(setting, parameters)
    expect(status, text).to.equal(200)
    return withActor(body.access_token)
  }
const badActor = invalidRequest('actor_token is invalid', 'read-only, and the subject token is not')
const ACTORS: Named<(scene: Scene) => Promise<Parameters>> = {
  ...Object.fromEntries(Object.entries(COUNT_AS_TRUE).map(([name, value]) => [name, actorSaying(value)])),
  'a JWT of a read-only record': actorOfReadOnly(API),
  'an opaque token of a read-only record': actorOfReadOnly(OPAQUE_API),
}

/** One event tells it. */
const tells =
  (name: string, value: true | undefined): Step =>
  ({ events }) =>
    expect(
      events.map(({ payload, ...event }) => [event.name, Reflect.get(payload, 'readOnly')]),
    ).to.deep.equal([[name, value]])
const exchangedEvent = ({ door }: Scene) =>
  door === 'a subject token' ? 'subject_token.exchanged' : 'access_token.exchanged'

/** One more of the same user, to go on in. */
const keepsOther =
  (members: object): Step =>
  async ({ setting, people, kept }) => {
    kept.other = (await issue(setting, { userId: people.userId, ...members })).id
  }
const goesOn: Step = (scene) =>
  manages(scene, {
    method: 'POST',
    path: '/revocations',
    body: { id: scene.id, cause: 'continued', continuedBy: scene.kept.other },
  })

/** The applications and the resources of the scenes with sessions. */
const guarded = (metadata: Partial<ClientMetadata> = {}) =>
  shop({ impersonation_read_only: true, ...metadata })
const OBEYS: Given = {
  clients: [guarded()],
  resources: Object.fromEntries(
    Object.entries(resources).map(([name, server]) => [name, { ...server, readOnly: true }]),
  ),
}
const undeclared = (declared: Declared): Given => ({
  clients: [guarded()],
  resources: { [API]: { ...(resources[API] ?? expect.fail()), ...declared } },
})
const READ_ONLY = { readOnly: true } as const
/** Of the policy and the claims function. */
const asked: unknown[] = []
const REQUESTS: Named<Record<string, string>> = {
  'for no API': {},
  'a JWT': { resource: API, scope: 'openid orders:read' },
  'an opaque token': { resource: OPAQUE_API, scope: 'openid orders:read' },
}
/** What everyone is told of a session that is read-only, or is not. */
const tellsApplication = (request: Record<string, string>, members: { readonly readOnly?: true }): Steps =>
  armed(
    async (scene) => {
      const { authorize, browser, redeem, userinfo, use } = scene
      const { resource } = request
      const arrival = await authorize(browser, request)
      const { status, body, text } = await redeem(arrival, resource ? { resource } : {})
      expect(status, text).to.equal(200)
      const isReadOnly = members.readOnly === true
      expect(decodeJwt(body.id_token).read_only).to.equal(isReadOnly)
      const token: string = body.access_token
      const claims = token.includes('.') ? decodeJwt(token) : await introspect(scene, token)
      expect(claims.read_only).to.equal(members.readOnly)
      if (!resource) expect((await userinfo(token)).body.read_only).to.equal(isReadOnly)
      expect(await use()).to.include({ clientId: 'shop' })
    },
    OBEYS,
    members,
  )

/** A session that is read-only ends, and its application is told with these answers. */
const endedWith = (answers: readonly number[], use: (told: readonly unknown[]) => void): Steps => [
  answer(
    record(async () => {
      const application = await startApplication(...answers)
      const given = { ...OBEYS, clients: [guarded({ backchannel_logout_uri: application.uri })] }
      await inScene(given, async (scene) => {
        const browser = await scene.signedIn()
        const { id, token } = await scene.issue(READ_ONLY)
        await scene.arm(browser, token)
        await scene.redeem(await scene.authorize(browser))
        await scene.impersonation.records.stop({ id })
        await eventually(() => scene.eventsOf('session.ended').length > 0)
        const all = scene.events.filter(
          ({ name }) => name.startsWith('session.') || name.endsWith('.exchanged'),
        )
        use(all.map(({ name, payload }) => [name, Reflect.get(payload, 'readOnly')]))
      })
      await application.close()
    }),
  ),
]
async function eventually(isSo: () => boolean): Promise<void> {
  for (let left = 100; left > 0 && !isSo(); left -= 1) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** A subject token that opens an application is asked for. */
const asksForSession = (
  client: ClientMetadata,
  options: Given['options'],
  body: object,
  use: (answered: Promise<unknown>, scene: SessionScene) => Promise<void>,
): Steps => [
  answer(
    record(() =>
      inScene({ clients: [client], ...(options && { options }) }, async (scene) => {
        const request = {
          userId: 'alice',
          actorId: 'bob',
          clientId: 'shop',
          use: 'session',
          createdBy: 'test',
        }
        await use(scene.impersonation.records.issue({ ...request, ...body } as never), scene)
      }),
    ),
  ),
]
const refusesReadOnly = async (answered: Promise<unknown>, scene: SessionScene): Promise<void> => {
  const error = await answered.catch((thrown: unknown) => thrown)
  expect(error).to.include({ status: 400, code: 'invalid_request', field: 'readOnly' })
  expect((await scene.impersonation.records.list()).items).to.deep.equal([])
}

declareCells('R', [
  rowsOf([
    'true',
    'false',
    'absent',
    'true, and the option is on',
    'false, and the option is on',
    'absent, and the option is on',
  ])('R1 M193 M195', {
    true: [issues({ readOnly: true }), says(true)],
    false: [issues({ readOnly: false }), says(undefined)],
    absent: [issues(), says(undefined)],
    'true, and the option is on': [on('read-only by default'), issues({ readOnly: true }), says(true)],
    'false, and the option is on': [on('read-only by default'), issues({ readOnly: false }), says(undefined)],
    'absent, and the option is on': [on('read-only by default'), issues(), says(true)],
  }),
  values('M193, of another type', { text: 'true', number: 1, null: null, list: [true] }, (value) => [
    issues({ readOnly: value }),
    wrongInput('readOnly must be true or false'),
  ]),
  everyResponse('R2 T16', (changes) => [readOnly, send(changes), tokenSays({ read_only: true }), spent]),
  everyResponse('T16, not read-only', (changes) => [
    declare({ readOnly: true }),
    send(changes),
    tokenSays({ read_only: undefined }),
    spent,
  ]),
  rowsOf(['at issuance'])('P33', {
    'at issuance': [listens, issues({ readOnly: true }), policyHears({ readOnly: true }), says(true)],
  }),
  rowsOf(['at issuance'])('P33, absent', {
    'at issuance': [listens, issues(), policyHears({ readOnly: undefined }), says(undefined)],
  }),
  everyDoor('P33 P26', [
    readOnly,
    ready,
    listens,
    declare({ readOnly: true }),
    send(),
    policyHears({ readOnly: true }),
    contextHears({ grant: (grant: { readOnly?: boolean }) => grant.readOnly === true }),
    succeeds(),
    spent,
  ]),
  rule(
    'P33 P26, a session',
    armed(
      async ({ authorize, browser, redeem, use }) => {
        const { status, text } = await redeem(await authorize(browser))
        expect(status, text).to.equal(200)
        // At the page, at the button, and when the application arrives.
        expect(asked).to.deep.equal([true, true, true, 'claims: true'])
        expect(await use()).to.include({ clientId: 'shop' })
      },
      {
        ...OBEYS,
        options: {
          isAllowed: ({ readOnly }) => asked.push(readOnly) > 0,
          getCustomJwtClaims({ context }) {
            asked.push(`claims: ${context.grant.readOnly}`)
            return {}
          },
        },
      },
      READ_ONLY,
    ),
  ),
  everyDoor('P33 P26, absent', [
    ready,
    listens,
    send(),
    policyHears({ readOnly: undefined }),
    contextHears({ grant: (grant: object) => !('readOnly' in grant) }),
    succeeds(),
    spent,
  ]),
  values('R3 R2, read-only', REQUESTS, (request) => tellsApplication(request, READ_ONLY)),
  values('R3 R2, not read-only', REQUESTS, (request) => tellsApplication(request, {})),
  values('R4, and the record is not', ACTORS, (actor) => [
    declare({ readOnly: true }),
    ready,
    send(actor),
    badActor,
  ]),
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
  doors('R5, whatever the received token says', {
    'a subject token': 'it says nothing',
    ...received([readOnly, forged({ read_only: false }), send(), tokenSays({ read_only: true }), spent]),
  }),
  doors('R5, whatever the received token says of a record that is not', {
    'a subject token': 'it says nothing',
    ...received([forged({ read_only: true }), send(), tokenSays({ read_only: undefined }), spent]),
  }),
  passed('R5, without a record', {
    ...received('it has a record'),
    ...own([
      forged({ read_only: 'yes' }),
      async (scene) => {
        const { setting, received: token } = scene
        if (!isJwt(scene)) await rewrite(setting, token, { extra: { read_only: 'yes' } })
      },
      send(),
      refusedToken('read-only, and it has no status'),
    ]),
  }),
  rowsOf(['read-only, in one that is not'])('R6', {
    'read-only, in one that is not': [
      issuedWith({ readOnly: true }),
      isIssued,
      keepsOther({}),
      goesOn,
      wrongInput('continuedBy must be the id of a read-only record'),
    ],
  }),
  rowsOf(['read-only, in another', 'not read-only, in one that is'])('R6, and goes on', {
    'read-only, in another': [
      issuedWith({ readOnly: true }),
      isIssued,
      keepsOther({ readOnly: true }),
      goesOn,
      succeeds({ revoked: 1 }),
      recordSays({ state: 'revoked' }),
    ],
    'not read-only, in one that is': [
      isIssued,
      keepsOther({ readOnly: true }),
      goesOn,
      succeeds({ revoked: 1 }),
      recordSays({ state: 'revoked' }),
    ],
  }),
  ...Object.entries(UNDECLARED).map(([name, declared]) =>
    doors(
      `R7, ${name}`,
      each(DOORS, (door) => [
        at(door),
        declareTarget(declared),
        issuedWith({ readOnly: true }),
        send(),
        NOT_OBEYED,
      ]),
    ),
  ),
  everyDoor('R7, and a record that is not read-only', [declareTarget({}), send(), succeeds(), spent]),
  doors(
    'R7 R8, by its scopes',
    each(DOORS, (door) => [
      at(door),
      declareTarget({ writeScopes: ['orders:write'] }),
      issuedWith({ readOnly: true }),
      (scene) => void Object.assign(scene, { scope: 'openid orders:read orders:write' }),
      send({ scope: 'orders:read orders:write' }),
      tokenSays({ scope: 'orders:read', read_only: true }),
      spent,
    ]),
  ),
  doors(
    'R8, and none left',
    each(DOORS, (door) => [
      at(door),
      declareTarget({ readOnly: true, writeScopes: ['orders:write'] }),
      issuedWith({ readOnly: true }),
      (scene) => void Object.assign(scene, { scope: 'openid orders:read orders:write' }),
      send({ scope: 'orders:write' }),
      nothingToGrant,
    ]),
  ),
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
      undeclared({ writeScopes: ['orders:write'] }),
      READ_ONLY,
    ),
  ),
  values('R9', MALFORMED, (declared) => [
    ready,
    declare(declared as Declared),
    send(),
    serverError(
      'getResourceServerInfo gave a readOnly that is no boolean, or writeScopes that its scope does not name',
    ),
  ]),
  values(
    'R10, at issuance',
    { absent: {}, 'the metadatum is false': { impersonation_read_only: false } },
    (metadata) => asksForSession(shop(metadata), undefined, READ_ONLY, refusesReadOnly),
  ),
  values('R10, at issuance, by the option', { absent: {} }, () =>
    asksForSession(shop(), { readOnly: true }, {}, refusesReadOnly),
  ),
  values(
    'R10, and a client that obeys',
    { asked: [undefined, READ_ONLY], 'by the option': [{ readOnly: true }, {}] } as const,
    ([options, body]) =>
      asksForSession(guarded(), options, body, async (answered, scene) => {
        await answered
        const { items } = await scene.impersonation.records.list({ readOnly: true })
        expect(items.map(({ use }) => use)).to.deep.equal(['session'])
      }),
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
        OBEYS,
        members,
      ),
  ),
  rule(
    'R11 A30',
    armed(
      async ({ authorize, browser, redeem, provider, id, use }) => {
        const seen: unknown[] = []
        provider.on('grant.success', (ctx: object) => void seen.push(impersonationOf(ctx)))
        await redeem(await authorize(browser))
        const expected = { id, userId: 'alice', actor: { sub: 'bob' }, clientId: 'shop', readOnly: true }
        expect(seen).to.deep.equal([expected])
        expect(await use()).to.include({ clientId: 'shop' })
      },
      OBEYS,
      READ_ONLY,
    ),
  ),
  rowsOf(['issuance'])('R11, issued', {
    issuance: [issues({ readOnly: true }), tells('subject_token.issued', true), says(true)],
  }),
  everyDoor('R11, exchanged', [
    readOnly,
    ready,
    send(),
    (scene) => tells(exchangedEvent(scene), true)(scene),
    succeeds(),
    spent,
  ]),
  everyDoor('R11, exchanged, not read-only', [
    ready,
    send(),
    (scene) => tells(exchangedEvent(scene), undefined)(scene),
    succeeds(),
    spent,
  ]),
  rule(
    'R11, ended',
    endedWith([500], (told) =>
      expect(told).to.deep.equal([
        ['subject_token.exchanged', true],
        ['session.logout_failed', true],
        ['session.ended', true],
      ]),
    ),
  ),
])
