import { errors, type Provider } from 'oidc-provider'

/**
 * Before the provider accepts a client assertion or a DPoP proof, it looks for a record of it, and writes one
 * where there is none. Requests at the same moment all find none. An adapter that writes a record once, and
 * throws `InvalidGrant` to all others, decides between them. For those `unique` returns `false`, as for a record
 * that was found, so that each endpoint refuses them as it refuses every replay.
 */
export function refuseSimultaneousReplays({ ReplayDetection }: Provider): void {
  const unique = ReplayDetection.unique.bind(ReplayDetection)
  ReplayDetection.unique = async (iss, jti, exp) => {
    try {
      return await unique(iss, jti, exp)
    } catch (error) {
      if (error instanceof errors.InvalidGrant) return false
      throw error
    }
  }
}
