/** Requests of the management API. */
import type { HttpResponse } from '../../fixtures/http.ts'
import { idFrom, keptToken, postSubjectToken } from '../../fixtures/requests.ts'
import { made, type Of } from './exchanging.ts'
import type { Step } from './rule.ts'
import type { Scene } from './scene.ts'

type Body = Readonly<Record<string, unknown>>

/** A subject token is asked for, by default one of alice. */
export const issues =
  (body: Of<Body> = {}): Step =>
  async (scene) => {
    const given = { userId: 'alice', ...(await made(body, scene)) }
    const token = await keptToken(scene.setting)
    const response = await scene.request(() => postSubjectToken(scene.setting, given, token))
    if (response.status === 201)
      Object.assign(scene, { id: idFrom(response), subjectToken: response.body.subjectToken })
  }

/** Any request. */
export const requests =
  (send: (scene: Scene) => Promise<HttpResponse>): Step =>
  (scene) =>
    scene.request(() => send(scene))
