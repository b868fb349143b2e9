import { type Deployment, TooLate, within } from 'oidc-provider-impersonation/inside'

/**
 * Results of the deployment's functions, for which the provider would wait without end. Each of them may take as long as those
 * that have a time limit.
 *
 * @param who is said to be late.
 * @param functions how many are called one after another, at most.
 */
export async function inTime<Result>(
  { options }: Deployment['inside'],
  who: string,
  result: PromiseLike<Result>,
  functions = 1,
): Promise<Result> {
  const limit = options.customClaimsTimeout * functions
  return within(limit, result).catch((error: unknown) => {
    throw error instanceof TooLate ? new TooLate(`${who} took more than ${limit} s`) : error
  })
}
