/** Listeners (docs/protocol.md §6): each hears every event, and none can disturb the others, the process or the response. */
import { expect } from 'chai'
import { Provider } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { type Deployment, OPAQUE_API, withDeployment } from '../../../fixtures/deployment.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { EVENTS, type PolicyRequest } from '../../../src/index.ts'
import { inScene } from '../../spec/arriving.ts'

const throwing = (error: unknown) => () => {
  throw error
}
const ERROR = new Error('listener')
const LISTENERS: Readonly<Record<string, (payload: { actor?: object }) => unknown>> = {
  throws: throwing(ERROR),
  'throws undefined': throwing(undefined),
  rejects: () => Promise.reject(ERROR),
  'rejects later': () => new Promise((_, reject) => setImmediate(() => reject(ERROR))),
  'never settles': () => new Promise(() => {}),
  // biome-ignore lint/suspicious/noThenProperty: that is the test
  'returns a thenable that throws': () => ({ then: throwing(ERROR) }),
  'changes what it hears': ({ actor = {} }) => Object.assign(actor, { sub: 'mallory' }),
}
const HEARD = ['issued', 'refused', 'exchanged', 'replayed'].map((name) => `subject_token.${name}`)

/** Issues, is refused, exchanges, and sends it again: each event of an exchange once. */
async function flow(deployment: Deployment): Promise<void> {
  const { subjectToken } = await issue(deployment)
  const actor = withActor(await actorToken(deployment))
  const request = { subject_token: subjectToken, resource: OPAQUE_API, ...actor }
  const responses = [
    await exchange(deployment, { ...request, scope: 'unknown' }),
    await exchange(deployment, request),
    await exchange(deployment, request),
  ]
  expect(responses.map(({ status }) => status)).to.deep.equal([400, 200, 400])
}

describe('token exchange: listeners', () => {
  for (const [title, listener] of Object.entries(LISTENERS)) {
    it(`one that ${title} changes nothing for the others, nor for the process`, async () => {
      const unhandled: unknown[] = []
      const listen = (error: unknown) => void unhandled.push(error)
      process.on('unhandledRejection', listen)
      try {
        await withDeployment({}, async (deployment) => {
          const later: unknown[][] = []
          for (const name of EVENTS) {
            deployment.provider.on(name, listener as () => void)
            deployment.provider.on(name, (...heard: unknown[]) => void later.push([name, ...heard]))
          }
          await flow(deployment)
          expect(later.map(([name]) => name)).to.deep.equal(HEARD)
          for (const heard of later) expect(heard).to.have.length(2)
          const acting = later.flatMap(([, payload]) => Reflect.get(Object(payload), 'actor') ?? [])
          expect(acting).to.deep.equal(Array(3).fill({ sub: 'bob', clientId: 'spa' }))
          expect(deployment.errors).to.deep.equal([])
        })
        await new Promise((resolve) => setImmediate(resolve))
        expect(unhandled).to.deep.equal([])
      } finally {
        process.off('unhandledRejection', listen)
      }
    })
  }

  it('hear one event by `once`', () =>
    withDeployment({}, async (deployment) => {
      const heard: string[] = []
      deployment.provider.once('subject_token.issued', ({ id }) => void heard.push(id))
      const { id } = await issue(deployment)
      await issue(deployment)
      expect(heard).to.deep.equal([id])
    }))

  it("hear the provider's own event beside ours, with the access token as for other grants", () =>
    withDeployment({}, async (deployment) => {
      const heard: unknown[] = []
      deployment.provider.on('grant.success', ({ oidc }) => void heard.push(oidc.entities.AccessToken?.jti))
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
      expect(heard.at(-1)).to.equal(body.access_token)
    }))
})

describe('sign-ins as the user: listeners', () => {
  it("one of the host's that throws, and was there first, keeps no refusal back", async () => {
    class WithListener extends Provider {
      constructor(...given: ConstructorParameters<typeof Provider>) {
        super(...given)
        this.on('authorization.error', throwing(ERROR))
      }
    }
    // The door asks without a scope, the arrival with one.
    const options = { isAllowed: ({ scope }: PolicyRequest) => scope === undefined }
    await inScene({ Provider: WithListener, options }, async (scene) => {
      const browser = await scene.signedIn()
      await scene.arm(browser, (await scene.issue()).token)
      await scene.authorize(browser)
      expect(scene.refusals()).to.deep.equal(['isAllowed returned false'])
    })
  })
})
