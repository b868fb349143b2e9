/** Someone has arrived at the shop as alice, by way of the door, and the shop can be told of the end. */
import type { Browser } from '../../fixtures/browser.ts'
import { AFTER_LOGOUT, type Application, startApplication } from '../../fixtures/sessions.ts'
import { type Given, type Scene, shop, startScene } from './arriving.ts'

export interface Arrived extends Scene {
  readonly application: Application
  readonly id: string
  /** The engineer's browser. */
  readonly own: Browser
  /** The response that brings the code to the shop. */
  readonly arrival: Awaited<ReturnType<Scene['authorize']>>
  state(): Promise<string | undefined>
}

/** The shop has not redeemed the code yet. */
export async function withArrival(given: Given, use: (arrived: Arrived) => Promise<void>): Promise<void> {
  const application = await startApplication()
  const client = shop({ backchannel_logout_uri: application.uri, post_logout_redirect_uris: [AFTER_LOGOUT] })
  const scene = await startScene({ ...given, clients: [client, ...(given.clients ?? [])] })
  const { impersonation } = scene
  try {
    const own = await scene.signedIn()
    const { id, token } = await scene.issue()
    await scene.arm(own, token)
    const arrival = await scene.authorize(own)
    if (!arrival.location?.searchParams.has('code')) throw new Error(`no code: ${arrival.text}`)
    await use({
      ...scene,
      ...{ application, id, own, arrival },
      state: async () => (await impersonation.records.get(id))?.state,
    })
  } finally {
    await scene.close()
    await application.close()
  }
}

export interface SignedIn extends Arrived {
  readonly idToken: string
  readonly accessToken: string
}

/** The shop has redeemed the code. */
export const withSession = (given: Given, use: (signedIn: SignedIn) => Promise<void>): Promise<void> =>
  withArrival(given, async (arrived) => {
    const { status, body, text } = await arrived.redeem(arrived.arrival)
    if (status !== 200) throw new Error(text)
    await use({ ...arrived, idToken: body.id_token, accessToken: body.access_token })
  })
