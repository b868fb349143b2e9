/** Engineers' tokens that cannot act: `defaultResource` and `useGrantedResource` make JWTs for the API of each of them. */
import { API, deploy, desk, either, type Make } from './deployment.ts'

const indicators = { enabled: true, defaultResource: () => API } as const

export const mistaken: Make = (place) =>
  deploy({ indicators: { ...indicators, useGrantedResource: () => true } }, place)
export const remedied: Make = (place) =>
  deploy(
    {
      indicators: { ...indicators, useGrantedResource: (_ctx, { clientId }) => clientId !== desk.client_id },
    },
    place,
  )

export default either(mistaken, remedied)
